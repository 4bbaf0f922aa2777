"""One decoded SPI transfer, as the engine logs it."""

from __future__ import annotations

from typing import NamedTuple


class SpiFrame(NamedTuple):
    """One decoded transfer of `device`, a chip: `length` data bytes at `address` of what `name` says."""

    start_us: float
    end_us: float
    device: str
    name: str
    address: int
    write: bool
    length: int
    data: bytes
    """The first 16."""
    meaning: str
    """The data as a command, a socket state, text or a number, as far as it is one; else empty."""
    wire_bytes: int
    """With command and address."""

    @property
    def duration_us(self) -> float:
        return self.end_us - self.start_us
