"""Where the time of each row went, as shares of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portbench.results.answer import why
from portbench.results.attribution import GROUPS
from portbench.results.explain import Facts
from portbench.results.explain.words import duration
from portbench.results.page.drawing import colour, drawings, lanes, lanes_height, style
from portbench.results.page.parts import Chart, Data, Section, Value, names, paragraphs
from portbench.results.table import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 5


def section(panel: Panel) -> Section | None:
    found = [
        (label, facts)
        for label, group in zip(names(panel), panel.groups, strict=True)
        if group.attributed and (facts := Facts.of(group.attributed)) is not None
    ]
    if not found:
        return None
    short = [f"{label}: {duration(facts.each_ps())}" for label, facts in found]
    labels = [f"{text} a {facts.noun}" for text, (_, facts) in zip(short, found, strict=True)]
    groups = [group for group in GROUPS.values() if any(facts.share(group.name) for _, facts in found)]
    colours = {group.name: colour(number) for number, group in enumerate(GROUPS.values())}

    def draw(axes: Axes, narrow: bool) -> None:
        lanes(axes, short if narrow else labels, narrow)
        left = [0.0] * len(found)
        for group in groups:
            shares = [100 * facts.share(group.name) for _, facts in found]
            axes.barh(range(len(found)), shares, left=left, height=0.42, color=colours[group.name])
            left = [before + share for before, share in zip(left, shares, strict=True)]
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the time")

    wide, narrow = drawings(draw, lanes_height(len(labels)))
    rows: list[dict[str, Value]] = [
        {
            "row": label,
            "us": facts.each_ps() / 1e6,
            **{f"{group.title} us": facts.each_ps(group.name) / 1e6 for group in groups},
        }
        for label, facts in found
    ]
    legend = tuple((style(colours[group.name]), group.title) for group in groups)
    says = "Shares of each row's time, by what it went to; the sentences above have what matters."
    chart = Chart("Where the time goes", says, wide, narrow, Data.of(f"{panel.title} attribution", rows), legend)
    return Section("Why", paragraphs(why(panel.groups)), charts=(chart,))
