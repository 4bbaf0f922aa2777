"""Figures of earlier runs, over firmware versions and over time, with their steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from portbench.console import shown
from portbench.errors import LibraryMissing
from portbench.results.cells import figure, workload_title
from portbench.results.histories.series import Axis, Series, Step, over_time, over_versions, version_order
from portbench.results.histories.store import Entry
from portbench.results.histories.table import step_said
from portbench.results.page.drawing import MARKERS, bare, colour, drawings, log_steps, page_libraries, plain, style
from portbench.results.page.parts import Chart, Data, Paragraph, Part, Section, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 280.0
_MOST_LINES = 10
_ROOM = 1.35


def history_part(entries: Sequence[Entry]) -> Part | None:
    """The part with the history; None without a second measurement or version."""
    versions, times = over_versions(entries), over_time(entries)
    made = []
    if versions:
        made.append(_section("Over firmware versions", versions))
    if times:
        made.append(_section("Over time", times))
    return Part("History", tuple(made)) if made else None


def _section(title: str, series: list[Series]) -> Section:
    """A chart for each workload of a kind of board; the steps in words."""
    together: dict[tuple[str, ...], list[Series]] = {}
    for each in series:
        of = each.first
        together.setdefault((of.workload, of.where, of.timed_by, of.board, of.figure), []).append(each)
    charts = tuple(
        _chart(title, lines[at : at + _MOST_LINES])
        for lines in together.values()
        for at in range(0, len(lines), _MOST_LINES)
    )
    return Section(title, tuple(_steps(series)), charts=charts)


def _steps(series: list[Series]) -> list[Paragraph]:
    said = []
    for each in series:
        try:
            steps = each.steps()
        except LibraryMissing as error:
            return [Paragraph(f"Steps are not told: {error}.")]
        for step in steps:
            said += [Paragraph(shown(_told(each, step))), Paragraph(shown(step.comparison), is_code=True)]
    return said or [Paragraph("No step was found.")]


def _told(series: Series, step: Step) -> str:
    return f"Step in {series.title}: {step_said(step)} from {series.label(step.before)} to {series.label(step.after)}."


def _chart(title: str, lines: list[Series]) -> Chart:
    of = lines[0].first
    about = " ".join(filter(None, (workload_title(of.workload), of.where, of.board)))
    values = [entry.value for each in lines for entry in each.entries]
    low, high = min(values) / _ROOM, max(values) * _ROOM
    ticks = _ticks(lines)

    def draw(axes: Axes, narrow: bool) -> None:
        with page_libraries():
            from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        inside = log_steps(low, high)
        few = MaxNLocator(4).tick_values(low, high) if len(inside) < 2 else inside
        axes.yaxis.set_major_locator(FixedLocator(few if len(few) < 8 else few[::3]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
        places = {label: place for place, label in enumerate(ticks)}
        for number, each in enumerate(lines):
            axes.plot(
                [places[_tick(each, entry)] for entry in each.entries],
                [entry.value for entry in each.entries],
                color=colour(number),
                marker=MARKERS[number % len(MARKERS)][0],
                markersize=7,
                linewidth=2,
            )
        most = 3 if narrow else 9
        chosen = list(enumerate(ticks))[:: -(-len(ticks) // most)]
        axes.set_xticks([place for place, _ in chosen], [label for _, label in chosen])
        axes.set_xlim(-0.4, len(ticks) - 0.6)
        bare(axes, "y")
        axes.tick_params(length=0)
        axes.set_ylabel(f"{of.unit}, logarithmic")

    wide, narrow = drawings(draw, _HEIGHT)
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
            style(colour(number)),
            f"{MARKERS[number % len(MARKERS)][1]} {' '.join(filter(None, (each.name, each.first.profile)))}",
        )
        for number, each in enumerate(lines)
    )
    says = " ".join(
        f"{each.title}: {figure(each.entries[0].value)} {of.unit} at {each.label(each.entries[0])},"
        f" {figure(each.entries[-1].value)} at {each.label(each.entries[-1])}."
        for each in lines
    )
    data = Data.of(f"{title} {about} {of.figure}", rows)
    return Chart(shown(f"{about}, {title[0].lower()}{title[1:]}"), shown(says), wide, narrow, data, legend)


def _ticks(lines: list[Series]) -> list[str]:
    """Every version, or every time, in its order."""
    if lines[0].axis is Axis.VERSION:
        newest = {entry.version: entry for each in lines for entry in each.entries}
        return [shown(entry.version) for entry in sorted(newest.values(), key=version_order)]
    times = sorted({entry.measured_utc for each in lines for entry in each.entries})
    return [_time(text) for text in times]


def _tick(series: Series, entry: Entry) -> str:
    return shown(entry.version) if series.axis is Axis.VERSION else _time(entry.measured_utc)


def _time(text: str) -> str:
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")
