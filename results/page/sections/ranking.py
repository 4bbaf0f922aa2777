"""The answer, and all rows' headline figures as bars, with published figures of real boards below them."""

import contextlib
from typing import Any, Final

from portbench.errors import PortbenchError
from portbench.results.answer import fastest, flash, is_python, published_lines, recommended
from portbench.results.cells import figure, stated
from portbench.results.model import Published
from portbench.results.page.drawing import SOFT, Place, colour, in_lanes, marks
from portbench.results.page.parts import Chart, Data, Paragraph, Section, Value, names, paragraphs
from portbench.results.published import nearest
from portbench.results.stats import Group
from portbench.results.table import Panel
from portbench.workloads import Workload

ORDER = 1
_PYTHON, _SILICON, _NEWEST, _CEILING = colour(0), colour(1), colour(2), colour(7)
PORTS: Final = ("micropython", "circuitpython", "wiznet", "native", "hosted")
"""The families with a page."""
_PORT_PAGE: Final = "https://github.com/portbench/portbench/blob/main/docs/runtimes/{}.md"
_LANE: Final = 58.0
_LETTERS: Final = 112
"""Pixels for a figure at the end of the longest bar."""


def section(panel: Panel) -> Section:
    lines: list[str] = []
    if not panel.is_foreign:
        lines = [*flash(panel.groups), *fastest(panel.groups, panel.where), *published_lines(panel.known, panel.groups)]
    found = {group.first.family for group in panel.groups}
    pages: dict[str, str] = {name: _PORT_PAGE.format(name) for name in PORTS if name in found}
    ports = (Paragraph("What each port does with the chip:", links=pages),) if pages else ()
    return Section("Answer", (*paragraphs(dict.fromkeys(lines)), *ports), charts=(chart(panel),), is_beside=True)


def chart(panel: Panel) -> Chart:
    """The rows' headline figures, best first. Raises LibraryMissing."""
    labels, headline = names(panel), panel.groups[0].headline
    newest = recommended(panel.groups)
    silicon = [_silicon(group, panel.known) for group in panel.groups]
    rows: list[dict[str, Value]] = [
        {
            "row": label,
            headline.unit: group.value.median,
            "least": group.value.min,
            "most": group.value.max,
            "silicon": there and there[1].median,
            "silicon has": there and there[0],
            "ratio": there and group.value.median / there[1].median,
        }
        for label, group, there in zip(labels, panel.groups, silicon, strict=True)
    ]
    best, last = panel.groups[0], panel.groups[-1]
    says = (
        f"{labels[0]} leads with {figure(best.value.median)} {headline.unit};"
        f" {labels[-1]} has {figure(last.value.median)}."
    )
    if newest is not None:
        says += f" {labels[panel.groups.index(newest)]}, with {figure(newest.value.median)}, is the newest maintained."
    here = str(panel.where)
    legend = [(_PYTHON, here), (_NEWEST, f"{here}, newest maintained firmware")]
    legend += [(_CEILING, f"{here}, no Python: a reference"), (_SILICON, "silicon, as published")]
    drawn = {_look(group, newest) for group in panel.groups} | ({_SILICON} if any(silicon) else set())
    return Chart.of(
        f"{headline.unit}, {'more' if headline.better == 'higher' else 'less'} is better",
        says,
        lambda width: drawing(panel, width),
        Data.of(f"{panel.title} {headline.name}", rows),
        tuple(each for each in legend if each[0] in drawn),
    )


def drawing(panel: Panel, width: int, most: int | None = None) -> dict[str, Any]:
    """The `most` best rows as bars. A reference that is longer than all Python ends at the right edge."""
    ranked = sorted(zip(names(panel), panel.groups, strict=True), key=lambda each: not is_python(each[1].first))
    labels, groups = [label for label, _ in ranked][:most], [group for _, group in ranked][:most]
    newest = recommended(panel.groups)
    found = [_silicon(group, panel.known) for group in groups]
    lengths = [group.value.median for group in groups if is_python(group.first)]
    lengths += [published.median for _, published in filter(None, found)]
    end = max(lengths or [group.value.median for group in groups]) * width / (width - _LETTERS)
    bars: list[Place] = []
    texts: list[Place] = []
    inside: list[Place] = []
    small: list[Place] = []
    for number, (label, group, silicon) in enumerate(zip(labels, groups, found, strict=True)):
        value, unit = group.value.median, group.headline.unit
        text = figure(value) + (", flash this" if group is newest else "" if is_python(group.first) else ", no Python")
        says = f"{label}: {figure(value)} {unit}"
        bars.append(_bar(min(value, end), number - 0.16, 0.34, _look(group, newest), says))
        if value > end:
            inside.append({"x": end, "y": number + 0.01, "text": f"{text} →"})
        else:
            texts.append({"x": value, "y": number + 0.01, "text": text})
        if silicon is not None:
            firmware, published = silicon
            says = f"silicon, {firmware}: {stated(published)} {unit}"
            bars.append(_bar(published.median, number + 0.21, 0.08, _SILICON, says))
            text = f"silicon {stated(published)} ({firmware.rpartition('-')[2]})"
            small.append({"x": published.median, "y": number + 0.25, "text": text})
    layers = [
        marks("rect", bars),
        marks("text", texts, dx=7, fontWeight="bold"),
        marks("text", inside, dx=-8, align="right", color="var(--raised)", fontWeight="bold"),
        marks("text", small, dx=7, fontSize=11, color=SOFT),
    ]
    return in_lanes(width, labels, {"domain": [0, end], "hidden": True}, layers, _LANE)


def _bar(length: float, top: float, height: float, look: str, says: str) -> Place:
    return {"x": 0, "x2": length, "y": top, "y2": top + height, "colour": look, "says": says}


def _look(group: Group, newest: Group | None) -> str:
    return _NEWEST if group is newest else _PYTHON if is_python(group.first) else _CEILING


def _silicon(group: Group, known: Workload | None) -> tuple[str, Published] | None:
    """The firmware and its published figure: of this very firmware, else of the newest of its family; None if that is
    another figure than the rows'."""
    firmware, published = group.first.runtime, group.publication
    if published is None and known is not None:
        with contextlib.suppress(PortbenchError):
            if near := nearest(known, group.first):
                firmware, published = near[0].runtime, near[1]
    return None if published is None or published.figure is not None else (firmware, published)
