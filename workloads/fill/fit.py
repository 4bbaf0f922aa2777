"""The straight part of a transfer's time over the number of fills, and the line through it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_POINTS: Final = 4
STRAIGHT: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Tolerances, as shares of the slope: a point lies on the line if it is at most so far away. The first share counts for
which half of the points lie on a line. A simulated board's times are straight; a busy network bends them."""


@dataclass(frozen=True)
class Line:
    """`first`, `last`: the numbers of fills between which the times lie on it; times in microseconds."""

    first: int
    last: int
    slope_us: float
    intercept_us: float
    worst: float
    """The largest distance of a point from the line, as a share of the slope."""


def straight_part(times_us: Sequence[float]) -> Line | None:
    """The longest straight stretch of the times for 0, 1, 2, ... fills; None if fewer than half lie on a line.

    The beginning may be bent: the first fills cost nothing while the chip still sends. Single points may be off the
    line, too: the PC's delayed acknowledgements make a transfer shorter or longer.
    """
    least = max(LEAST_POINTS, len(times_us) // 2)
    ends = [(first, last) for first in range(len(times_us)) for last in range(first + least - 1, len(times_us))]
    lines = [_line(times_us, first, last) for first, last in ends]
    for share in STRAIGHT:
        straight = [line for line in lines if line is not None and line.worst <= share]
        if straight:
            return max(straight, key=lambda line: (line.last - line.first, -line.worst))
    return None


def _line(times_us: Sequence[float], first: int, last: int) -> Line | None:
    fills = range(first, last + 1)
    slope, intercept = statistics.linear_regression(fills, times_us[first : last + 1])
    if slope <= 0:
        return None
    worst = max(abs(times_us[each] - intercept - slope * each) for each in fills) / slope
    return Line(first, last, slope, intercept, worst)
