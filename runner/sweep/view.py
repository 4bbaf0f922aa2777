"""What a person sees of a sweep: how far it is and how long it takes yet, then its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from portbench.results.cells import figure
from portbench.runner.settings import Axis
from portbench.runner.sweep.points import Point, told

MOST_LINES: Final = 100


def columns(axes: Sequence[Axis], points: Sequence[Point]) -> tuple[str, ...]:
    unit = points[0].headline.unit
    real = ("SPI MHz real",) if any(point.rows[0].conditions.spi_hz_actual for point in points) else ()
    return (*_varying(axes, points), *real, unit, "of the best")


def lines(axes: Sequence[Axis], points: Sequence[Point]) -> list[tuple[str, ...]]:
    """In the order of the axes' values; of very many the best."""
    better = points[0].headline.better == "higher"
    best = (max if better else min)(point.value for point in points)
    chosen = list(points)
    if len(chosen) > MOST_LINES:
        chosen = sorted(chosen, key=lambda point: point.value, reverse=better)[:MOST_LINES]
    else:
        places = {axis.name: {told(value): place for place, value in enumerate(axis.values)} for axis in axes}
        chosen.sort(key=lambda point: [places[name].get(told(value), -1) for name, value in point.at.items()])
    with_real = "SPI MHz real" in columns(axes, points)
    found = []
    for point in chosen:
        actual = point.rows[0].conditions.spi_hz_actual
        real = (f"{actual / 1e6:.4g}" if actual else "",) if with_real else ()
        share = point.value / best if better else best / point.value
        at = (told(point.at[name]) for name in _varying(axes, points))
        found.append((*at, *real, figure(point.value), f"{share * 100:.3g} %"))
    return found


def _varying(axes: Sequence[Axis], points: Sequence[Point]) -> list[str]:
    """What is the same in all points is in the title of the table."""
    return [axis.name for axis in axes if len({told(point.at[axis.name]) for point in points}) > 1]
