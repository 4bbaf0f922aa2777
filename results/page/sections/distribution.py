"""How long single exchanges took: a histogram for each row, on one logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portbench.results.cells import figure
from portbench.results.page.drawing import INK, colour, drawings, lanes, lanes_height, log_ticks, page_libraries, style
from portbench.results.page.parts import Chart, Data, Section, Value, names
from portbench.results.stats import Group, summarize
from portbench.results.table import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 4
_BINS = 160
_BAR, _P99 = colour(0), colour(1)


def section(panel: Panel) -> Section | None:
    name = _samples(panel)
    if name is None:
        return None
    found = [
        (label, values)
        for label, group in zip(names(panel), panel.groups, strict=True)
        if (values := sorted(_values(group, name)))
    ]
    if not found:
        return None
    labels, all_values = [label for label, _ in found], [values for _, values in found]
    summaries = [summarize(values) for values in all_values]
    low = min(values[0] for values in all_values) / 1.25
    high = max(values[-1] for values in all_values) * 1.25

    def draw(axes: Axes, narrow: bool) -> None:
        with page_libraries():
            import numpy
        lanes(axes, labels, narrow)
        log_ticks(axes, low, high, narrow)
        edges = numpy.geomspace(low, high, _BINS // (2 if narrow else 1) + 1)
        for number, (values, summary) in enumerate(zip(all_values, summaries, strict=True)):
            counts, _ = numpy.histogram(values, edges)
            base = number + 0.3
            # The root, so that one slow exchange among a thousand is still seen.
            heights = base - 0.48 * numpy.sqrt(counts / counts.max())
            axes.stairs(heights, edges, baseline=base, fill=True, color=_BAR)
            axes.vlines(summary.median, base, base + 0.1, color=INK, linewidth=2)
            axes.vlines(summary.p99, base, base + 0.1, color=_P99, linewidth=2)
        axes.set_xlabel(_title(name) + ", logarithmic")

    wide, narrow = drawings(draw, lanes_height(len(labels), 56))
    rows: list[dict[str, Value]] = [
        {
            "row": label,
            "samples": summary.n,
            "least": summary.min,
            "median": summary.median,
            "p90": summary.p90,
            "p99": summary.p99,
            "most": summary.max,
        }
        for label, summary in zip(labels, summaries, strict=True)
    ]
    says = " ".join(
        f"{label}: median {figure(summary.median)}, 99th percentile {figure(summary.p99)}."
        for label, summary in zip(labels, summaries, strict=True)
    )
    legend = (
        (style(_BAR), "how many, as a square root"),
        (style(INK), "median"),
        (style(_P99), "99th percentile"),
    )
    data = Data.of(f"{panel.title} {name} distribution", rows)
    chart = Chart(f"{_title(name)} of single exchanges", says, wide, narrow, data, legend)
    return Section("Latency", charts=(chart,))


def _samples(panel: Panel) -> str | None:
    """The samples behind the workload's columns, else other samples of the rows, if they are times."""
    known = panel.known
    told = [column.of for column in known.columns if column.statistic] if known else []
    there = dict.fromkeys(name for group in panel.groups for row in group.rows for name in row.samples)
    return next((name for name in [*reversed(told), *there] if name in there and name.endswith("_us")), None)


def _values(group: Group, name: str) -> list[float]:
    return [value for row in group.rows for value in row.samples.get(name, ()) if value > 0]


def _title(name: str) -> str:
    return name.removesuffix("_us").replace("_", " ") + " us"
