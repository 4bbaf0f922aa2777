"""What a sweep has measured, point by point and curve by curve."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from portbench.results.model import Headline, Row, Status
from portbench.runner.settings import Axis, as_number
from portbench.runner.sweep.plan import Job


@dataclass(frozen=True)
class Point:
    """All measured runs of one combination of values."""

    at: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def headline(self) -> Headline:
        found = self.rows[0].headline
        assert found is not None  # of a measured row
        return found

    @property
    def values(self) -> list[float]:
        return [row.value for row in self.rows if row.value is not None]

    @property
    def value(self) -> float:
        """The headline's median."""
        return statistics.median(self.values)

    def figure(self, name: str) -> float | None:
        found = [row.figures[name] for row in self.rows if name in row.figures]
        return statistics.median(found) if found else None


@dataclass(frozen=True)
class Curve:
    """Points that differ in one numeric axis alone, in its order."""

    axis: str
    fixed: dict[str, Any]
    points: tuple[Point, ...]

    @property
    def x(self) -> list[float]:
        return [number for point in self.points if (number := as_number(point.at[self.axis])) is not None]

    @property
    def y(self) -> list[float]:
        return [point.value for point in self.points]


def points_of(measured: Iterable[tuple[Job, Row]]) -> list[Point]:
    """In the order in which they are first met."""
    together: dict[str, tuple[dict[str, Any], list[Row]]] = {}
    for job, row in measured:
        if row.status is Status.MEASURED:
            together.setdefault(repr(job.point), (job.point, []))[1].append(row)
    return [Point(at, tuple(rows)) for at, rows in together.values()]


def curves(points: Sequence[Point], axes: Sequence[Axis]) -> list[Curve]:
    """Along each numeric axis, for each combination of the others that has it."""
    found = []
    for axis in axes:
        if not axis.is_numeric:
            continue
        together: dict[str, tuple[dict[str, Any], list[Point]]] = {}
        for point in points:
            if as_number(point.at[axis.name]) is not None:
                fixed = {name: value for name, value in point.at.items() if name != axis.name}
                together.setdefault(repr(fixed), (fixed, []))[1].append(point)
        for fixed, members in together.values():
            members.sort(key=lambda point: as_number(point.at[axis.name]) or 0.0)
            if len(members) > 1:
                found.append(Curve(axis.name, fixed, tuple(members)))
    return found


def told(value: Any) -> str:
    """A value of an axis for people: `8M`, `yes`; what makes no difference to a row is `-`."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        for least, scale, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
            if value >= least and float(f"{value / scale:.4g}") == value / scale:
                return f"{value / scale:.4g}{letter}"
        return f"{value:.10g}"
    return str(value)
