"""Settings of workloads that move bytes in writes of several sizes."""

from __future__ import annotations

from typing import Final

from pydantic import field_validator

from portbench.workloads.workload import WorkloadSettings

WRITES: Final = 256
"""The most of a transfer, as the bodies have it."""
_LARGEST_WRITE: Final = 16_384


class WriteSizes(WorkloadSettings):
    """`transfer_bytes`: of one transfer. `writes`: bytes of one write, each in separate transfers."""

    transfer_bytes: int
    writes: str

    @field_validator("writes")
    @classmethod
    def _sizes(cls, text: str) -> str:
        sizes = text.split(",")
        if not all(each.isascii() and each.isdigit() and 1 <= int(each) <= _LARGEST_WRITE for each in sizes):
            raise ValueError(f"{text!r} is not sizes from 1 to {_LARGEST_WRITE} with commas between them")
        if len(set(map(int, sizes))) < len(sizes) or len(sizes) > 10:
            raise ValueError(f"{text!r} names a size twice, or more than 10")
        return text

    @property
    def sizes(self) -> list[int]:
        return [int(each) for each in self.writes.split(",")]

    def total(self, size: int) -> int:
        """Bytes of a transfer in writes of `size`."""
        return max(1, min(self.transfer_bytes // size, WRITES)) * size
