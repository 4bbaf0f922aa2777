"""Bencher Metric Format: a benchmark for each row, with a measure for each figure."""

from collections.abc import Sequence
from typing import Any

from portbench.results.exports import Figure
from portbench.results.model import RunFile
from portbench.results.stats import summarize


def files(run: RunFile, table: Sequence[Figure]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for figure in table:
        found = summarize(figure.values)
        metric = {"value": found.median, "lower_value": found.min, "upper_value": found.max}
        rows.setdefault(figure.row, {})[figure.metric.name] = metric
    return {"bencher.json": rows}
