"""From where on more of an axis brings little: the knee of a curve, found by kneed (Satopaa et al., 2011)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portbench.errors import LibraryMissing
from portbench.results.cells import figure
from portbench.runner.sweep.points import Curve, Point, told

LEAST_POINTS: Final = 5
_FLAT: Final = 0.02


def share(value: float) -> str:
    return f"{value:+.0%}".replace("%", " %")


@dataclass(frozen=True)
class Knee:
    """`brought` and `left`: what the axis brings up to the knee and beyond it, as shares of the first value."""

    curve: Curve
    at: Point
    brought: float
    left: float
    named: tuple[str, ...]
    """The axes that tell its curve from others."""

    @property
    def sentence(self) -> str:
        axis = self.curve.axis
        fixed = ", ".join(f"{name} {told(self.at.at[name])}" for name in self.named)
        of = f" ({fixed})" if fixed else ""
        first, last = self.curve.points[0], self.curve.points[-1]
        unit = self.at.headline.unit
        return (
            f"{axis}: knee at {told(self.at.at[axis])}{of}: {figure(first.value)} to {figure(self.at.value)} {unit}"
            f" ({share(self.brought)}) from {told(first.at[axis])} to there, then {share(self.left)} to"
            f" {told(last.at[axis])}"
        )


def knees(found: Sequence[Curve]) -> list[Knee]:
    """Of the curves that have one; those of few points, or all but flat, have none. Raises LibraryMissing."""
    return [knee for curve in found if (knee := _knee(curve, _telling(curve, found))) is not None]


def _telling(curve: Curve, found: Sequence[Curve]) -> tuple[str, ...]:
    alike = [each for each in found if each.axis == curve.axis]
    return tuple(
        name
        for name, value in curve.fixed.items()
        if value is not None and any(each.fixed[name] != value for each in alike)
    )


def _knee(curve: Curve, named: tuple[str, ...]) -> Knee | None:
    x, y = curve.x, curve.y
    if len(x) < LEAST_POINTS or max(y) - min(y) <= _FLAT * max(y):
        return None
    try:
        from kneed import KneeLocator
    except ImportError as error:
        raise LibraryMissing("knees need kneed; install it: pip install 'portbench[sweep]'") from error
    rises = y[-1] > y[0]
    # Where it gains quickly at first: above its chord if it rises, below if it falls.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is none
        located = KneeLocator(
            x, y, curve="concave" if rises else "convex", direction="increasing" if rises else "decreasing"
        )
    if located.knee is None:
        return None
    at = curve.points[x.index(float(located.knee))]
    first, last = curve.points[0].value, curve.points[-1].value
    if at in (curve.points[0], curve.points[-1]):
        return None
    return Knee(curve, at, at.value / first - 1, last / at.value - 1, named)
