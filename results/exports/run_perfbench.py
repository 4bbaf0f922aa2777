"""`_results.json` of MicroPython's run-perfbench.py, with the scores: a folder for each row of perf_bench."""

from collections.abc import Sequence
from typing import Any

from portbench.results.exports import Figure
from portbench.results.histories.store import file_name
from portbench.results.model import RunFile
from portbench.results.run_perfbench import WORKLOAD, report


def files(run: RunFile, table: Sequence[Figure]) -> dict[str, Any]:
    groups = {figure.row: figure.group for figure in table if figure.group.first.workload == WORKLOAD}
    return {f"{file_name(row)}/_results.json": report(group) for row, group in groups.items()}
