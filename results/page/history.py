"""Figures of earlier runs, over firmware versions and over time, with their steps."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from portbench.errors import LibraryMissing
from portbench.results.cells import figure, workload_title
from portbench.results.histories.series import FigureChange, Series, SeriesAxis, over_time, over_versions, version_order
from portbench.results.histories.store import Entry
from portbench.results.histories.table import step_said
from portbench.results.page.drawing import INK, SHAPES, colour, log_axis, marks, spec
from portbench.results.page.parts import Chart, Data, PagePart, Paragraph, Section, Value

_HEIGHT = 280.0
_Y_AXIS = 72
"""Pixels of its figures and title."""
_MOST_LINES = 10
_ROOM = 1.35
_MARGIN = 0.08
"""The share of the axis that is free on both sides."""
_MOST_TICKS = 6
_DAY_S = 86400
_MINUTES_S = (60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200)
_STEPS_S = (1, 2, 5, 10, 30, *_MINUTES_S, *(days * _DAY_S for days in (1, 2, 5, 10, 30, 90, 180, 365)))
"""Between two ticks of time."""


def history_part(entries: Sequence[Entry]) -> PagePart | None:
    """The part with the history; None without a second measurement or version."""
    versions, times = over_versions(entries), over_time(entries)
    made = []
    if versions:
        made.append(_section("Over firmware versions", versions))
    if times:
        made.append(_section("Over time", times))
    return PagePart("History", tuple(made)) if made else None


def _section(title: str, series: list[Series]) -> Section:
    """A chart for each workload of a kind of board; the steps in words."""
    together: dict[tuple[str, ...], list[Series]] = {}
    for each in series:
        of = each.first
        together.setdefault((of.workload, of.where, of.timed_by, of.board, of.figure), []).append(each)
    try:
        # By their ids: series that differ in settings have one title.
        steps = {id(each): each.steps() for each in series}
        told = [(each, step) for each in series for step in steps[id(each)]]
        said = [text for each, step in told for text in _paragraphs(each, step)] or [Paragraph("No step was found.")]
    except LibraryMissing as error:
        steps, said = {id(each): [] for each in series}, [Paragraph(f"Steps are not shown: {error}.")]
    charts = tuple(
        _chart(title, lines[at : at + _MOST_LINES], steps)
        for lines in together.values()
        for at in range(0, len(lines), _MOST_LINES)
    )
    return Section(title, tuple(said), charts=charts)


def _paragraphs(series: Series, step: FigureChange) -> list[Paragraph]:
    return [Paragraph(_told(series, step)), Paragraph(step.comparison, is_code=True)]


def _told(series: Series, step: FigureChange) -> str:
    return f"Step in {series.title}: {step_said(step)} from {series.label(step.before)} to {series.label(step.after)}."


def _chart(title: str, lines: list[Series], steps: Mapping[int, Sequence[FigureChange]]) -> Chart:
    of = lines[0].first
    about = " ".join(filter(None, (workload_title(of.workload), of.where, of.board)))
    values = [entry.value for each in lines for entry in each.entries]
    low, high = min(values) / _ROOM, max(values) * _ROOM
    places, ticks = _axis(lines)
    lines_drawn, steps_drawn = [], []
    for number, each in enumerate(lines):
        for entry in each.entries:
            label = each.label(entry)
            lines_drawn.append(
                {
                    "x": places[label],
                    "y": entry.value,
                    "colour": colour(number),
                    "shape": SHAPES[number % len(SHAPES)][0],
                    "says": f"{each.title}, {label}: {figure(entry.value)} {of.unit}",
                }
            )
        for step in steps[id(each)]:
            says = f"{_told(each, step)} {step.comparison}"
            steps_drawn.append({"x": places[each.label(step.after)], "y": step.after.value, "says": says})

    def draw(width: int) -> dict[str, Any]:
        layers = [
            marks("line", lines_drawn, strokeWidth=2, aria=False),
            marks("point", lines_drawn, filled=True, size=60, opacity=1),
            marks("point", steps_drawn, shape="circle", size=380, stroke=INK, strokeWidth=2, fill="transparent"),
        ]
        names = f"{json.dumps(ticks)}[datum.value]"
        first, last = min(places.values()), max(places.values())
        room = (last - first) * _MARGIN or 1
        x = {"domain": [first - room, last + room], "values": [*ticks], "labelExpr": names, "grid": False}
        return spec(width - _Y_AXIS, _HEIGHT, x, {**log_axis(low, high, of.unit), "minExtent": 48}, layers)

    rows: list[dict[str, Value]] = [
        {
            "row": " ".join(filter(None, (each.name, each.first.profile))),
            str(each.axis): each.label(entry),
            of.unit: entry.value,
            "run": entry.run,
            "revision": entry.revision[:12],
        }
        for each in lines
        for entry in each.entries
    ]
    legend = tuple(
        (
            colour(number),
            f"{SHAPES[number % len(SHAPES)][1]} {' '.join(filter(None, (each.name, each.first.profile)))}",
        )
        for number, each in enumerate(lines)
    )
    says = " ".join(
        f"{each.title}: {figure(each.entries[0].value)} {of.unit} at {each.label(each.entries[0])},"
        f" {figure(each.entries[-1].value)} at {each.label(each.entries[-1])}."
        for each in lines
    )
    data = Data.of(f"{title} {about} {of.figure}", rows)
    return Chart.of(f"{about}, {title[0].lower()}{title[1:]}", says, draw, data, legend)


def _axis(lines: list[Series]) -> tuple[dict[str, int], dict[int, str]]:
    """The places of versions, side by side, or of times, to scale; and the ticks with their labels."""
    entries = [entry for each in lines for entry in each.entries]
    if lines[0].axis is SeriesAxis.VERSION:
        newest = {lines[0].label(entry): entry for entry in entries}
        places = {label: at for at, label in enumerate(sorted(newest, key=lambda each: version_order(newest[each])))}
        return places, {at: label for label, at in places.items()}
    times = {entry.measured_utc: datetime.fromisoformat(entry.measured_utc) for entry in entries}
    places = {label: round(time.timestamp()) for label, time in times.items()}
    first, last = min(places.values()), max(places.values())
    step = next((each for each in _STEPS_S if (last - first) / each <= _MOST_TICKS), _STEPS_S[-1])
    pattern = "%Y-%m-%d" if step >= _DAY_S else "%m-%d %H:%M" if step >= 60 else "%H:%M:%S"
    at = range(-(-first // step) * step, last + 1, step) or [first]
    return places, {each: datetime.fromtimestamp(each, UTC).strftime(pattern) for each in at}
