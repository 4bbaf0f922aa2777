"""What the PC does on its UDP port in a workload, as an object without I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

MOST_BYTES: Final = 1472
"""What goes into one frame."""


class Datagrams(ABC):
    """From the start of a run to its end, in both directions. The port has the number of the TCP server's."""

    @abstractmethod
    def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
        """What goes back to `peer` (`address:port`), and how many us after the PC's turnaround each."""
