"""Times of single exchanges: a histogram for each row, on one logarithmic axis."""

import math
from collections import Counter
from typing import Any

from portbench.results.cells import figure
from portbench.results.page.drawing import INK, Place, colour, in_lanes, log_axis, marks
from portbench.results.page.parts import Chart, Data, Section, Value, names
from portbench.results.stats import Group, summarize
from portbench.results.table import Panel

ORDER = 5
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

    def draw(width: int) -> dict[str, Any]:
        bars: list[Place] = []
        for number, (values, summary) in enumerate(zip(all_values, summaries, strict=True)):
            base = number + 0.3
            bars += _histogram(values, low, high, width // 4, base)
            for value, look, what in ((summary.median, INK, "median"), (summary.p99, _P99, "99th percentile")):
                size = (high / low) ** (1 / width)
                says = f"{what} {figure(value)} us"
                place = {"y": base, "y2": base + 0.12, "colour": look, "says": says}
                bars.append({"x": value / size, "x2": value * size, **place})
        layers = [marks("rect", bars)]
        return in_lanes(width, labels, log_axis(low, high, _title(name)), layers)

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
        (_BAR, "how many, as a square root"),
        (INK, "median"),
        (_P99, "99th percentile"),
    )
    data = Data.of(f"{panel.title} {name} distribution", rows)
    chart = Chart.of(f"{_title(name)} of single exchanges", says, draw, data, legend)
    return Section("How steady it is", charts=(chart,))


def _histogram(values: list[float], low: float, high: float, bins: int, base: float) -> list[Place]:
    """Bars that stand on `base`: the root of the counts, so that one slow exchange among a thousand is still seen."""
    step = math.log(high / low) / bins
    counts = Counter(int(math.log(value / low) / step) for value in values)
    most = max(counts.values())
    bars: list[Place] = []
    for place, count in sorted(counts.items()):
        left, right = (low * math.exp(step * (place + each)) for each in (0, 1))
        says = f"{figure(left)} to {figure(right)} us: {count}"
        top = base - 0.48 * math.sqrt(count / most)
        bars.append({"x": left, "x2": right, "y": top, "y2": base, "colour": _BAR, "says": says})
    return bars


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
