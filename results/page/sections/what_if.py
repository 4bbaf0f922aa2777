"""The effect of one change at a time on each row."""

from typing import Any

from portbench.results.page.drawing import LINES, SHAPES, colour, in_lanes, log_axis, marks
from portbench.results.page.parts import Chart, Data, Paragraph, Section, Value, names
from portbench.results.table import Panel

ORDER = 4
_ABOUT = (
    "Each row was run again with one change at a time and few exchanges. These runs are not ranked: two of the changes"
    " are switches of the emulator that no board has."
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
    looks = {title: (colour(number), *SHAPES[number % len(SHAPES)]) for number, title in enumerate(titles)}
    times = [each.times for _, changes in found for each in changes]
    low, high = min(*times, 1.0) / 1.08, max(*times, 1.5) * 1.12
    places = [
        {
            "x": each.times,
            "y": number,
            "colour": looks[each.title][0],
            "shape": looks[each.title][1],
            "says": f"{each.title}: {each.times:.2f} times as good",
        }
        for number, (_, changes) in enumerate(found)
        for each in changes
    ]

    def draw(width: int) -> dict[str, Any]:
        layers = [
            marks("rule", [{"x": 1.0}], color=LINES, strokeWidth=2),
            marks("point", places, filled=True, size=90, opacity=1),
        ]
        return in_lanes(width, [label for label, _ in found], log_axis(low, high, "times as good"), layers)

    rows: list[dict[str, Value]] = [
        {"row": label, "what if": each.title, "value": each.value, "times": each.times}
        for label, changes in found
        for each in changes
    ]
    best = [(label, max(changes, key=lambda each: each.times)) for label, changes in found]
    says = " ".join(f"{label}: most by {each.title}, {each.times:.2f} times." for label, each in best)
    legend = tuple((look, f"{mark} {title}") for title, (look, _, mark) in looks.items())
    chart = Chart.of("What if", says, draw, Data.of(f"{panel.title} what if", rows), legend)
    return Section("What would help", (Paragraph(_ABOUT),), charts=(chart,))
