"""Workloads with a body in C, which runs without any runtime."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portbench.workloads.workload import Workload


class Native(Workload):
    """The folder has the image `native.uf2`, or one for each microcontroller. Its client has no console."""

    def native(self, mcu: str = "RP2040") -> Path | None:
        """The image for boards with this microcontroller; None if there is none."""
        path = self.folder / ("native.uf2" if mcu == "RP2040" else f"native_{mcu.lower()}.uf2")
        return path if path.is_file() else None

    @abstractmethod
    def native_settings(self, settings: Any) -> Sequence[int]:
        """The client's configuration: the body's count, and what else it reads, in the order of its C source."""


def native_image(workload: Workload, mcu: str = "RP2040") -> Path | None:
    """The image in C of any workload; None if it has none."""
    return workload.native(mcu) if isinstance(workload, Native) else None
