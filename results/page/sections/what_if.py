"""The effect of one change at a time on each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portbench.results.page.drawing import LINES, MARKERS, colour, drawings, lanes, lanes_height, log_ticks, style
from portbench.results.page.parts import Chart, Data, Paragraph, Section, Value, names
from portbench.results.table import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 7
_ABOUT = (
    "Each was run so, with few exchanges, and none is ever ranked: two of them are switches of the emulator that no"
    " board has."
)


def section(panel: Panel) -> Section | None:
    found = [
        (label, row.what_if)
        for label, group in zip(names(panel), panel.groups, strict=True)
        if (row := next((row for row in group.rows if row.what_if), None)) is not None
    ]
    if not found:
        return None
    titles = dict.fromkeys(each.title for _, changes in found for each in changes)
    looks = {title: (colour(number), MARKERS[number % len(MARKERS)]) for number, title in enumerate(titles)}
    times = [each.times for _, changes in found for each in changes]
    low, high = min(*times, 1.0) / 1.08, max(*times, 1.5) * 1.12
    labels = [label for label, _ in found]

    def draw(axes: Axes, narrow: bool) -> None:
        lanes(axes, labels, narrow)
        log_ticks(axes, low, high, narrow)
        axes.axvline(1.0, color=LINES, linewidth=2)
        for number, (_, changes) in enumerate(found):
            for each in changes:
                look, (marker, _) = looks[each.title]
                axes.scatter(each.times, number, color=look, marker=marker, s=60, zorder=3)
        axes.set_xlabel("times as good, logarithmic")

    wide, narrow = drawings(draw, lanes_height(len(labels)))
    rows: list[dict[str, Value]] = [
        {"row": label, "what if": each.title, "value": each.value, "times": each.times}
        for label, changes in found
        for each in changes
    ]
    best = [(label, max(changes, key=lambda each: each.times)) for label, changes in found]
    says = " ".join(f"{label}: most by {each.title}, {each.times:.2f} times." for label, each in best)
    legend = tuple((style(look), f"{mark} {title}") for title, (look, (_, mark)) in looks.items())
    chart = Chart("What if", says, wide, narrow, Data.of(f"{panel.title} what if", rows), legend)
    return Section("What if", (Paragraph(_ABOUT),), charts=(chart,))
