"""Rows of perf_bench as MicroPython's `run-perfbench.py -s` and `-t` print two result files."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

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
