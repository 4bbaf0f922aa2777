"""Files for github-action-benchmark, by the value of its input `tool`."""

from collections.abc import Sequence
from typing import Any, Final

from portbench.results.exports import Figure
from portbench.results.model import RunFile
from portbench.results.stats import summarize

_TOOLS: Final = {"higher": "customBiggerIsBetter.json", "lower": "customSmallerIsBetter.json"}


def files(run: RunFile, table: Sequence[Figure]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for figure in table:
        found, row = summarize(figure.values), figure.group.first
        entry = {"name": figure.name, "unit": figure.metric.unit, "value": found.median}
        entry |= {"range": f"{found.min:g} to {found.max:g}", "extra": f"{row.version}, {row.image_sha256}"}
        made.setdefault(_TOOLS[figure.metric.better], []).append(entry)
    return made
