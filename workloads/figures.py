"""Figures of a run, with their headline and columns, and the intervals that they come from."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """The figure that ranks rows; `name` is its key in a row's figures."""

    name: str
    unit: str
    better: Literal["higher", "lower"] = "higher"

    def factor(self, value: float, other: float) -> float:
        """The factor by which `value` is better than `other`."""
        return value / other if self.better == "higher" else other / value


@dataclass(frozen=True)
class Column:
    """A column of the workload's table: the median of a figure over the runs, or a statistic of all runs' samples."""

    title: str
    of: str
    """A key of the figures, or of the samples if there is a `statistic`."""
    statistic: Literal["median", "p99", "min", "max"] | None = None
    scale: float = 1.0
    """The factor from the value to the unit of the title."""


@dataclass(frozen=True)
class Measurement:
    """The result of a run: `figures` with one number each, `samples` with many, in order. Names include the units."""

    figures: dict[str, float]
    samples: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """An interval that a client measured on its own clock, or that the PC measured.

    `exchange`: the number, from 0, of the one exchange with the PC within the interval; None without one. `start_us`:
    its start on the PC's clock, if the PC measured it.
    """

    name: str
    duration_us: float
    exchange: int | None = None
    start_us: float | None = None


@dataclass(frozen=True)
class Spent:
    """The activity of an emulated board in an interval of `Workload.timed`.

    `waits`: the share, 0 to 1, in which the board slept or waited for the network or the PC.
    """

    name: str
    waits: float
    spi_bytes: int
