"""Shares of each row's time by cause, with flash cache misses as one of them."""

from typing import Any, Final

from portbench.results.answer import is_python, why
from portbench.results.attribution import CAUSES, GROUPS
from portbench.results.explain import Facts
from portbench.results.explain.words import duration, percent
from portbench.results.page.drawing import Place, colour, in_lanes, marks
from portbench.results.page.parts import Chart, Data, Section, Value, names, paragraphs
from portbench.results.table import Panel

ORDER = 3
_MISSES: Final = "flash cache misses"
_PIECES: Final = {
    _MISSES: [name for name in CAUSES if name.endswith("_miss")],
    **{
        group.title: [
            name for name, cause in CAUSES.items() if cause.group == group.name and not name.endswith("_miss")
        ]
        for group in GROUPS.values()
    },
}
"""By title, the causes of a piece of a bar."""
_LEAST_NAMED: Final = 0.08


def section(panel: Panel) -> Section | None:
    found = [
        (label, facts)
        for label, group in zip(names(panel), panel.groups, strict=True)
        if group.attributed and (facts := Facts.of(group.attributed)) is not None
    ]
    if not found:
        return None
    pieces = [title for title, causes in _PIECES.items() if any(facts.share(*causes) for _, facts in found)]
    colours = {title: colour(number) for number, title in enumerate(pieces)}

    def draw(width: int) -> dict[str, Any]:
        bars: list[Place] = []
        texts: list[Place] = []
        for number, (_, facts) in enumerate(found):
            left = 0.0
            for title in pieces:
                share = facts.share(*_PIECES[title])
                says = f"{title}: {duration(facts.each_ps(*_PIECES[title]))} a {facts.noun}, {percent(share)}"
                place = {"y": number - 0.16, "y2": number + 0.26, "colour": colours[title], "says": says}
                bars.append({"x": 100 * left, "x2": 100 * (left + share), **place})
                if share >= _LEAST_NAMED:
                    texts.append({"x": 100 * (left + share / 2), "y": number + 0.06, "text": percent(share)})
                left += share
        labels = [f"{label}: {duration(facts.each_ps())}" for label, facts in found]
        layers = [
            marks("rect", bars, stroke="var(--raised)", strokeWidth=1),
            marks("text", texts, align="center", fontSize=12, color="var(--raised)"),
        ]
        return in_lanes(width, labels, {"domain": [0, 100], "title": "% of the time"}, layers)

    rows: list[dict[str, Value]] = [
        {
            "row": label,
            "us": facts.each_ps() / 1e6,
            **{f"{title} us": facts.each_ps(*_PIECES[title]) / 1e6 for title in pieces},
        }
        for label, facts in found
    ]
    says = "Shares of each row's time, by what it went to; the sentences beside it have what matters."
    data = Data.of(f"{panel.title} attribution", rows)
    legend = tuple((colours[title], title) for title in pieces)
    title = f"Shares of the time, and the time of a {found[0][1].noun}"
    lines = why(panel.groups)
    name, facts = next((each for each in found if each[0] == _fastest(panel)), found[0])
    if not any(line.startswith(f"Why, {name}:") for line in lines):
        lines.insert(0, f"{name}: {_largest(facts, pieces)}.")
    return Section(
        "Where the time goes", paragraphs(lines), charts=(Chart.of(title, says, draw, data, legend),), is_beside=True
    )


def _fastest(panel: Panel) -> str | None:
    """The name of the fastest Python."""
    rows = zip(names(panel), panel.groups, strict=True)
    return next((label for label, group in rows if is_python(group.first)), None)


def _largest(facts: Facts, pieces: list[str]) -> str:
    """The pieces of the time that are large enough to name, for a row that no rule explains."""
    shares = sorted(((facts.share(*_PIECES[title]), title) for title in pieces), reverse=True)
    return ", ".join(f"{percent(share)} {title}" for share, title in shares if share >= _LEAST_NAMED)
