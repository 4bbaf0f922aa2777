"""All rows' headline figures on one logarithmic axis: between the first and the last may lie a factor of hundreds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portbench.results.answer import is_python
from portbench.results.cells import figure
from portbench.results.page.drawing import INK, colour, drawings, lanes, lanes_height, log_ticks, picture, style
from portbench.results.page.parts import Chart, Data, Section, Value, names
from portbench.results.table import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 3
_PYTHON, _CEILING = colour(0), colour(1)


def section(panel: Panel) -> Section | None:
    return Section("How far apart", charts=(chart(panel),)) if len(panel.groups) > 1 else None


def chart_file(panel: Panel) -> str:
    """The chart as an SVG file. Raises LibraryMissing."""
    return picture(chart(panel).wide, lanes_height(len(panel.groups)))


def chart(panel: Panel) -> Chart:
    """The rows' headline figures, best first. Raises LibraryMissing."""
    labels, headline = names(panel), panel.groups[0].headline
    medians = [group.value.median for group in panel.groups]
    colours = [_PYTHON if is_python(group.first) else _CEILING for group in panel.groups]
    low, high = min(medians) / 1.6, max(medians) * (max(medians) / min(medians)) ** 0.2 * 1.3

    def draw(axes: Axes, narrow: bool) -> None:
        lanes(axes, labels, narrow)
        log_ticks(axes, low, high, narrow)
        axes.hlines(range(len(medians)), low, medians, color=colours, linewidth=3)
        axes.scatter(medians, range(len(medians)), color=colours, s=64, zorder=3)
        for number, (group, value) in enumerate(zip(panel.groups, medians, strict=True)):
            if group.value.n > 1 and group.value.spread:
                axes.hlines(number, group.value.min, group.value.max, color=INK, linewidth=1, zorder=4)
            text = figure(value) if is_python(group.first) else f"{figure(value)}, no Python"
            axes.annotate(text, (value, number), xytext=(8, 0), textcoords="offset points", va="center")
        axes.set_xlabel(f"{headline.unit}, logarithmic")

    wide, narrow = drawings(draw, lanes_height(len(labels)))
    best, worst = panel.groups[0], panel.groups[-1]
    says = (
        f"{labels[0]} leads with {figure(best.value.median)} {headline.unit};"
        f" {labels[-1]} has {figure(worst.value.median)}."
    )
    rows: list[dict[str, Value]] = [
        {"row": label, headline.unit: group.value.median, "least": group.value.min, "most": group.value.max}
        for label, group in zip(labels, panel.groups, strict=True)
    ]
    legend = ((style(_PYTHON), "Python"), (style(_CEILING), "no Python: a reference"))
    return Chart(
        f"{headline.unit} by row",
        says,
        wide,
        narrow,
        Data.of(f"{panel.title} {headline.name}", rows),
        legend if len(set(colours)) > 1 else (),
    )
