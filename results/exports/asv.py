"""The folder `results` of airspeed velocity (asv) for a commit. Less is always better there: a rate is its inverse."""

from collections.abc import Sequence
from typing import Any, Final

from portbench.results.exports import Figure
from portbench.results.histories.store import file_name
from portbench.results.model import RunFile
from portbench.results.stats import summarize
from portbench.results.storage import StorageError

_NAME: Final = "portbench"


def files(run: RunFile, table: Sequence[Figure]) -> dict[str, Any]:
    """Raises StorageError."""
    if run.git is None:
        raise StorageError("asv: keeps results by commit, and the run has none; measure in a checkout")
    pc, commit = run.machine, run.git.revision
    machine = {"machine": _NAME, "os": f"{pc.system} {pc.release}", "arch": pc.architecture, "cpu": pc.processor}
    machine |= {"num_cpu": str(pc.cores), "ram": ""}
    about = {"commit_hash": commit, "date": round(run.started_utc.timestamp() * 1000), "params": machine}
    about |= {"env_name": _NAME, "env_vars": {}, "python": pc.python, "requirements": {}, "version": 2}
    columns = ("result", "params", "version", "samples")
    results = {"result_columns": columns, "results": {figure.name: _result(figure) for figure in table}}
    return {
        "benchmarks.json": {figure.name: _benchmark(figure) for figure in table} | {"version": 2},
        f"{_NAME}/machine.json": machine | {"version": 1},
        f"{_NAME}/{file_name(commit[:8])}-{_NAME}.json": about | results,
    }


def _result(figure: Figure) -> list[Any]:
    values = [1 / value if figure.metric.better == "higher" else value for value in figure.values]
    return [[summarize(values).median], [], "1", [values]]


def _benchmark(figure: Figure) -> dict[str, Any]:
    unit = figure.metric.unit
    if figure.metric.better == "higher":
        counted, _, per = unit.partition("/")
        unit = f"{per or 1}/{counted.removesuffix('s')}"
    known = {"name": figure.name, "unit": unit, "version": "1", "type": "track", "timeout": 0, "code": ""}
    return known | {"params": [], "param_names": []}
