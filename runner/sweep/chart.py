"""Points of diminishing returns of a sweep, and the picture: a line for each curve, with a mark there.

kneed finds the place (Satopaa et al., 2011).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portbench.errors import LibraryMissing, OptionError
from portbench.results.cells import figure
from portbench.runner.settings import CHOICES, Axis
from portbench.runner.sweep.plan import Curve, Point, told

FORMATS: Final = (".svg", ".png", ".pdf")
_MOST_PANELS: Final = 12
_MOST_LINES: Final = 10
_ABREAST: Final = 3
_MOST_TICKS: Final = 8
_LOGARITHMIC: Final = 16.0
"""A scale from its least value to so many times that is logarithmic."""
LEAST_POINTS: Final = 5
_FLAT: Final = 0.02


def share(value: float) -> str:
    return f"{value:+.0%}".replace("%", " %")


@dataclass(frozen=True)
class DiminishingReturns:
    """From the point `at` on, more of the axis brings little.

    `brought` and `left`: the gain up to this point, and the gain beyond it, as shares of the value before.
    """

    curve: Curve
    at: Point
    brought: float
    left: float
    named: tuple[str, ...]
    """The axes that distinguish its curve."""

    @property
    def sentence(self) -> str:
        axis = self.curve.axis
        fixed = ", ".join(f"{name} {told(self.at.at[name])}" for name in self.named)
        of = f" ({fixed})" if fixed else ""
        first, last = self.curve.points[0], self.curve.points[-1]
        unit = self.at.headline.unit
        return (
            f"{axis}: diminishing returns from {told(self.at.at[axis])}{of}: {figure(first.value)} to"
            f" {figure(self.at.value)} {unit} ({share(self.brought)}) from {told(first.at[axis])} to there, then"
            f" {share(self.left)} to {told(last.at[axis])}"
        )


def check_installed() -> None:
    """Raises LibraryMissing, before hours of measuring."""
    for library in ("kneed", "matplotlib"):
        LibraryMissing.unless_found(library, "sweep", "a sweep")


def diminishing_returns(found: Sequence[Curve]) -> list[DiminishingReturns]:
    """Find each curve's bend; one of few points, or all but flat, does not bend. Raises LibraryMissing."""
    return [bend for curve in found if (bend := _bend(curve, _telling(curve, found))) is not None]


def _telling(curve: Curve, found: Sequence[Curve]) -> tuple[str, ...]:
    alike = [each for each in found if each.axis == curve.axis]
    return tuple(
        name
        for name, value in curve.fixed.items()
        if value is not None and any(each.fixed[name] != value for each in alike)
    )


def _bend(curve: Curve, named: tuple[str, ...]) -> DiminishingReturns | None:
    x, y = curve.x, curve.y
    if len(x) < LEAST_POINTS or max(y) - min(y) <= _FLAT * max(y):
        return None
    with LibraryMissing.unless_installed("sweep", "the search for diminishing returns"):
        from kneed import KneeLocator
    rises = y[-1] > y[0]
    # Where it gains quickly at first: above its chord if it rises, below if it falls.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a curve without a bend
        located = KneeLocator(
            x, y, curve="concave" if rises else "convex", direction="increasing" if rises else "decreasing"
        )
    if located.knee is None:
        return None
    at = curve.points[x.index(float(located.knee))]
    first, last = curve.points[0].value, curve.points[-1].value
    if at in (curve.points[0], curve.points[-1]):
        return None
    return DiminishingReturns(curve, at, at.value / first - 1, last / at.value - 1, named)


def chart_axis(axes: Sequence[Axis], asked: str | None) -> str | None:
    """The axis that goes along x: the one asked for, else the numeric one with most values; None where there is none.

    Raises OptionError.
    """
    numeric = {axis.name: axis for axis in axes if axis.is_numeric}
    if asked is not None and asked.replace("-", "_") not in numeric:
        there = ", ".join(numeric) or "none"
        raise OptionError(f"--x {asked}: is not an axis of this sweep with several numbers; there is {there}")
    if asked is not None:
        return asked.replace("-", "_")
    return max(numeric.values(), key=lambda axis: len(axis.values)).name if numeric else None


def draw(
    path: Path,
    title: str,
    along: str,
    curves: Sequence[Curve],
    axes: Sequence[Axis],
    bends: Sequence[DiminishingReturns],
) -> str:
    """Writes the picture in the form that its name ends with; says what it leaves out, else nothing.

    Raises LibraryMissing or OSError.
    """
    with LibraryMissing.unless_installed("sweep", "the chart"):
        from matplotlib.figure import Figure
    drawn = [curve for curve in curves if curve.axis == along]
    by_line, panels = _shared_out(drawn, along, axes)
    shown = panels[:_MOST_PANELS]
    columns = min(_ABREAST, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(1.2 + 4.0 * columns + (1.3 if by_line else 0), 0.9 + 3.0 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    colours = _colours(by_line)
    for plot in grid.flat[len(shown) :]:
        plot.set_axis_off()
    for place, ((name, members), plot) in enumerate(zip(shown, grid.flat[: len(shown)], strict=True)):
        _panel(plot, members, along, by_line, colours, bends)
        plot.set_title(name, fontsize=9)
        if place % columns == 0:
            plot.set_ylabel(drawn[0].points[0].headline.unit)
        plot.set_xlabel(along)
    if by_line:
        named = {
            label: handle for plot in grid.flat for handle, label in zip(*plot.get_legend_handles_labels(), strict=True)
        }
        labels = [name for name in (told(value) for value in by_line.values) if name in named]
        handles = [named[label] for label in labels]
        figure.legend(handles, labels, title=by_line.name, loc="outside right center", frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    if len(panels) > len(shown):
        return f"{len(shown)} of {len(panels)} panels are drawn; give an axis fewer values, or choose another --x"
    return ""


def _shared_out(
    curves: Sequence[Curve], along: str, axes: Sequence[Axis]
) -> tuple[Axis | None, list[tuple[str, list[Curve]]]]:
    """The axis whose values are lines of one panel, and the panels: each with its name and its curves."""
    others = [axis for axis in axes if axis.name != along and len(axis.values) > 1]
    fitting = [axis for axis in others if len(axis.values) <= _MOST_LINES]
    # Firmware by firmware, for one may be a hundred times as fast as another.
    fitting = [axis for axis in fitting if axis.setting.part != "row"] or fitting
    by_line = max(fitting, key=lambda axis: len(axis.values), default=None)
    rest = [axis.name for axis in others if axis is not by_line]
    places = {axis.name: {told(value): place for place, value in enumerate(axis.values)} for axis in axes}
    panels: dict[str, list[Curve]] = {}
    for curve in sorted(curves, key=lambda curve: [places[each].get(told(curve.fixed[each]), -1) for each in rest]):
        name = ", ".join(
            told(curve.fixed[each]) if each in CHOICES else f"{each} {told(curve.fixed[each])}"
            for each in rest
            if curve.fixed[each] is not None
        )
        panels.setdefault(name, []).append(curve)
    return by_line, list(panels.items())


def _colours(by_line: Axis | None) -> dict[str, Any]:
    from matplotlib import colormaps

    if by_line is None:
        return {}
    names = [told(value) for value in by_line.values]
    if by_line.is_numeric:  # a scale, from its least value on
        scale = colormaps["viridis"]
        return {name: scale(0.85 * place / max(1, len(names) - 1)) for place, name in enumerate(names)}
    return {name: f"C{place}" for place, name in enumerate(names)}


def _panel(
    plot: Any,
    members: Sequence[Curve],
    along: str,
    by_line: Axis | None,
    colours: dict[str, Any],
    bends: Sequence[DiminishingReturns],
) -> None:
    named: set[float] = set()
    highest = max(y for curve in members for y in curve.y)
    for curve in members:
        name = told(curve.fixed[by_line.name]) if by_line else ""
        colour = colours.get(name, "C0")
        plot.plot(curve.x, curve.y, marker="o", markersize=3, linewidth=1.3, color=colour, label=name)
        lows, highs = ([pick(point.values) for point in curve.points] for pick in (min, max))
        if lows != highs:
            plot.fill_between(curve.x, lows, highs, color=colour, alpha=0.15, linewidth=0)
        for bend in bends:
            if bend.curve is curve:
                at = curve.points.index(bend.at)
                plot.plot(curve.x[at], curve.y[at], "o", markersize=9, markerfacecolor="none", color=colour)
                if curve.x[at] not in named:
                    named.add(curve.x[at])
                    label = f"from {told(bend.at.at[along])}"
                    where = (curve.x[at], curve.y[at])
                    off = 8 if where[1] < 0.9 * highest else -16
                    plot.annotate(
                        label, where, (0, off), textcoords="offset points", fontsize=8, ha="center", color=colour
                    )
    values = [x for curve in members for x in curve.x]
    if min(values) > 0 and max(values) / min(values) >= _LOGARITHMIC:
        plot.set_xscale("log")
    if len(set(values)) <= _MOST_TICKS:
        plot.set_xticks(sorted(set(values)))
        plot.minorticks_off()
    plot.xaxis.set_major_formatter(lambda value, _: told(float(f"{value:.4g}")))
    plot.set_ylim(0, 1.08 * highest)
    plot.grid(alpha=0.25)
    plot.tick_params(labelsize=8)
