"""The straight part of a transfer's time over the number of fills, and the line through it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_POINTS: Final = 4
STRAIGHT: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""A point lies on the line where it is at most this share of the slope away from it: the first share by which there is
a line counts. A simulated board's times are straight, a network that others use bends them."""


@dataclass(frozen=True)
class Line:
    """`first`: the number of fills from which on the times lie on it; times in microseconds."""

    first: int
    slope_us: float
    intercept_us: float
    worst: float
    """The largest distance of a point from the line, as a share of the slope."""


def straight_part(times_us: Sequence[float]) -> Line | None:
    """The longest straight end of the times for 0, 1, 2, ... fills; None where no LEAST_POINTS of them lie on a line.

    The beginning may be bent: while the chip still sends what it has, the first fills cost nothing.
    """
    lines = [_line(times_us, first) for first in range(len(times_us) - LEAST_POINTS + 1)]
    straight = (line for share in STRAIGHT for line in lines if line is not None and line.worst <= share)
    return next(straight, None)


def _line(times_us: Sequence[float], first: int) -> Line | None:
    fills = range(first, len(times_us))
    slope, intercept = statistics.linear_regression(fills, times_us[first:])
    if slope <= 0:
        return None
    worst = max(abs(times_us[each] - intercept - slope * each) for each in fills) / slope
    return Line(first, slope, intercept, worst)
