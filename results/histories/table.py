"""A history for people: the lines of a table, the same for a terminal and for a page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from portbench.results.cells import escape, figure, markdown_table
from portbench.results.histories.series import FigureChange, Series, SeriesAxis, over_time, over_versions
from portbench.results.histories.store import Entry

_MOST_LINES: Final = 20


def histories(entries: Sequence[Entry]) -> list[Series]:
    """Over versions, then over time."""
    return [*over_versions(entries), *over_time(entries)]


def lines(series: Series, steps: Sequence[FigureChange]) -> list[tuple[str, str, str, float]]:
    """Version or time, the figure, its remarks, and how much of the largest figure it is."""
    stepped = {id(step.after): step for step in steps}
    most = max(entry.value for entry in series.entries)
    return [
        (
            series.label(entry),
            figure(entry.value),
            _said(entry, stepped.get(id(entry)), series.axis),
            entry.value / most,
        )
        for entry in series.entries
    ]


def heading(series: Series) -> str:
    return f"{series.title}, over {series.axis}{'' if series.axis is SeriesAxis.TIME else 's'}"


def markdown(series: Sequence[Series], steps: Mapping[int, Sequence[FigureChange]]) -> str:
    """The newest `_MOST_LINES` figures of each history as Markdown for GitHub; empty without a history."""
    found = []
    for number, each in enumerate(series):
        cells = [line[:-1] for line in lines(each, steps[number])[-_MOST_LINES:]]
        table = markdown_table((str(each.axis), each.first.unit, "remarks"), cells, right=(each.first.unit,))
        found.append(f"History of {escape(heading(each))}:\n\n{table}\n")
    return "\n".join(found)


def as_data(series: Sequence[Series], steps: Mapping[int, Sequence[FigureChange]]) -> list[dict[str, Any]]:
    """For programs; `steps` by the number of the series."""
    return [
        {
            "axis": str(each.axis),
            "title": each.title,
            "figure": each.first.figure,
            "unit": each.first.unit,
            "entries": [asdict(entry) for entry in each.entries],
            "steps": [
                {
                    "before": step.before.run,
                    "after": step.after.run,
                    "from": each.label(step.before),
                    "to": each.label(step.after),
                    "times": step.times,
                    "compare": step.comparison,
                }
                for step in steps[number]
            ],
        }
        for number, each in enumerate(series)
    ]


def step_said(step: FigureChange) -> str:
    """`1.42x better`."""
    factor = step.times if step.times > 1 else 1 / step.times
    digits = 2 if factor >= 1.05 else 4
    return f"{factor:.{digits}f}x {'better' if step.times > 1 else 'worse'}"


def _said(entry: Entry, step: FigureChange | None, axis: SeriesAxis) -> str:
    told = [] if step is None else [f"step: {step_said(step)}"]
    if axis is SeriesAxis.TIME:
        told += filter(None, [entry.version if entry.version not in entry.runtime else "", entry.revision[:12]])
    return ", ".join(told)
