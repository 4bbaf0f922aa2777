"""Rows of perf_bench as MicroPython's `run-perfbench.py` prints two result files, and its `_results.json`."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any, Final

from portbench.results.compare import Comparison
from portbench.results.stats import Group

WORKLOAD: Final = "perf_bench"


def differences(comparisons: Sequence[Comparison], *, times: bool = False) -> str:
    """The difference of each script's score, or time: average of A and of B, difference, percent, and error (standard
    deviation) in percent. Empty without rows of perf_bench."""
    return "".join(f"{line}\n" for each in comparisons for line in _lines(each, times=times))


def _lines(each: Comparison, *, times: bool) -> Iterator[str]:
    if each.before.first.workload != WORKLOAD:
        return
    ours, theirs = (_values(group, times=times) for group in (each.before, each.after))
    yield "diff of microsecond times (lower is better)" if times else "diff of scores (higher is better)"
    settings = each.before.first.settings
    head = f"N={settings['cpu_mhz']} M={settings['heap_kb']}"
    yield f"{head:26} {'A':>10} -> {'B':>10}   {'diff':>10}   {'diff':>7}% (error%)"
    for name in sorted(ours.keys() & theirs.keys()):
        one, other = statistics.fmean(ours[name]), statistics.fmean(theirs[name])
        error = (statistics.pvariance(ours[name]) + statistics.pvariance(theirs[name])) ** 0.5
        percents = f"{100 * (other - one) / one:+7.3f}% (+/-{100 * error / one:.2f}%)"
        yield f"{name + '.py':26} {one:10.2f} -> {other:10.2f} : {other - one:+10.2f} = {percents}"


def _values(group: Group, *, times: bool) -> dict[str, list[float]]:
    """By script, those of all repeats of all runs."""
    found: dict[str, list[float]] = {}
    for row in group.rows:
        for key, times_us in row.samples.items():
            name = key.removesuffix("_us")
            work = row.figures[f"{name}_score"] * row.figures[key]
            found.setdefault(name, []).extend(times_us if times else (work / time_us for time_us in times_us))
    return found


def report(group: Group) -> dict[str, Any]:
    """The content of `_results.json`. The third item of a result, upstream's is empty, is the line that the script
    prints: average and deviation in percent of times and of scores."""
    times, scores, settings = _values(group, times=True), _values(group, times=False), group.first.settings
    args = {"N": [str(settings["cpu_mhz"])], "M": [str(settings["heap_kb"])], "average": str(settings["repeats"])}
    said = {name: f"{_printed(times[name])} {_printed(scores[name])}" for name in sorted(scores)}
    return {
        "args": args | {"test_instance": group.first.runtime},
        "results": [[f"{WORKLOAD}/{name}.py", "pass", text] for name, text in said.items()],
        "failed_tests": [],
        "ignored_tests": [],
        "scores": {f"{WORKLOAD}/{name}.py": scores[name] for name in said},
    }


def _printed(values: Sequence[float]) -> str:
    average = statistics.fmean(values)
    return f"{average:.2f} {100 * statistics.pstdev(values) / average:.4f}"
