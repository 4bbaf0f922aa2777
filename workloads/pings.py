"""ICMP echo requests that the PC sends while a connection is open: the plan, and the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class PingPlan:
    """`count` requests of each of `sizes` bytes of data, one size after the other.

    A request goes every `interval_us`, answered or not, as `ping -i` sends them; the last has `wait_us` for its answer.
    """

    sizes: tuple[int, ...]
    count: int
    interval_us: int
    wait_us: int

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """When each goes, after the first, and its size."""
        for number in range(len(self.sizes) * self.count):
            yield float(number * self.interval_us), self.sizes[number // self.count]

    @property
    def lasts_us(self) -> float:
        """From the first request to when the last is given up."""
        return float((len(self.sizes) * self.count - 1) * self.interval_us + self.wait_us)


@dataclass(frozen=True)
class Ping:
    """One request. `round_trip_us` None: no answer came."""

    data_bytes: int
    round_trip_us: float | None
