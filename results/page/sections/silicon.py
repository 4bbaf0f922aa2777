"""Published figures of real boards beside the measured ones."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from portbench.errors import PortbenchError
from portbench.results.answer import published_lines
from portbench.results.cells import figure
from portbench.results.model import Published
from portbench.results.page.drawing import LINES, colour, drawings, lanes, lanes_height, log_ticks, style
from portbench.results.page.parts import Chart, Data, Section, Value, names, paragraphs
from portbench.results.published import nearest
from portbench.results.stats import Group
from portbench.results.table import Panel
from portbench.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 8
_HERE, _SILICON = colour(0), colour(1)


def section(panel: Panel) -> Section | None:
    found = [
        (label, firmware, here, published.median)
        for label, group in zip(names(panel), panel.groups, strict=True)
        for firmware, published in _published(group, panel.known)
        if (here := group.value.median if published.figure is None else group.figure(published.figure)) is not None
    ]
    if not found:
        return None
    labels = [f"{label}; silicon: {firmware}" for label, firmware, _, _ in found]
    short = [f"{label} / {firmware.rpartition('-')[2]}" for label, firmware, _, _ in found]
    values = [value for _, _, here, there in found for value in (here, there)]
    low, high = min(values) / 1.4, max(values) * 1.4
    unit = panel.groups[0].headline.unit

    def draw(axes: Axes, narrow: bool) -> None:
        lanes(axes, short if narrow else labels, narrow)
        log_ticks(axes, low, high, narrow)
        for number, (_, _, here, there) in enumerate(found):
            axes.hlines(number, min(here, there), max(here, there), color=LINES, linewidth=3)
            axes.scatter(here, number, color=_HERE, s=64, zorder=3)
            axes.scatter(there, number, color=_SILICON, s=64, marker="D", zorder=3)
        axes.set_xlabel(f"{unit}, logarithmic")

    wide, narrow = drawings(draw, lanes_height(len(labels)))
    rows: list[dict[str, Value]] = [
        {"row": label, "silicon has": firmware, str(panel.where): here, "silicon": there, "ratio": here / there}
        for label, firmware, here, there in found
    ]
    says = " ".join(
        f"{label}: {figure(here)} here, {figure(there)} of {firmware} on silicon, {here / there:.2f} times."
        for label, firmware, here, there in found
    )
    legend = ((style(_HERE), f"{panel.where} (dot)"), (style(_SILICON), "silicon, as published (diamond)"))
    data = Data.of(f"{panel.title} silicon", rows)
    chart = Chart("Silicon beside this", says, wide, narrow, data, legend)
    return Section("Silicon", paragraphs(published_lines(panel.known, panel.groups)), charts=(chart,))


def _published(group: Group, known: Workload | None) -> list[tuple[str, Published]]:
    """Of this very firmware, else of the newest of its family."""
    if published := group.publication:
        return [("the same", published)]
    if known is not None:
        with contextlib.suppress(PortbenchError):
            if near := nearest(known, group.first):
                return [(near[0].runtime, near[1])]
    return []
