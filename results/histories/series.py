"""The history of one row, over firmware versions or over time, with the steps in it."""

import itertools
import json
import math
import re
import shlex
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from portbench.errors import LibraryMissing
from portbench.results.histories.store import Entry

_NOISE: Final = 0.005
_EXACT_NOISE: Final = 0.0005
"""The least standard deviation of chance, as a share. Two values differ from 2.6 times it on."""
_PENALTY: Final = 3.0
"""Penalty of a step, in variances times the logarithm of the number of values. Schwarz's criterion has 2, and finds
steps in one of ten histories that have none."""
_ENOUGH: Final = 6
_NORMAL_MAD: Final = 0.6745
_OF_A_MEDIAN: Final = math.sqrt(math.pi / 2)
"""By how much a median of normal values varies more than their mean."""
_BEFORE_RELEASE: Final = re.compile(r"preview|alpha|beta|rc\d|dev", re.IGNORECASE)


class SeriesAxis(StrEnum):
    """The key of a history."""

    VERSION = "version"
    TIME = "time"
    COMMIT = "commit"


@dataclass(frozen=True)
class FigureChange:
    """A change of the figure from `before` to `after`: to `times` as good, by the medians before and after."""

    before: Entry
    after: Entry
    times: float

    @property
    def comparison(self) -> str:
        """The command that compares the two."""
        both = (self.before, self.after)
        if self.before.runtime == self.after.runtime:
            return shlex.join(["portbench", "compare", *(f"results/runs/{each.run}" for each in both)])
        profile = ["--profile", self.after.profile] if self.after.profile else []
        images = (each.image for each in both)
        return shlex.join(["portbench", "compare", *images, "--workload", self.after.workload, *profile])


@dataclass(frozen=True)
class Series:
    """`entries` in the order of the axis; `name` is of the firmware, without its version where the axis has that."""

    axis: SeriesAxis
    name: str
    entries: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        return self.entries[0]

    @property
    def title(self) -> str:
        about = (self.name, self.first.profile, self.first.workload, self.first.where, self.first.board)
        return " ".join(filter(None, about))

    def label(self, entry: Entry) -> str:
        return entry.measured_utc if self.axis is SeriesAxis.TIME else entry.version or entry.runtime

    def steps(self) -> list[FigureChange]:
        """Raises LibraryMissing."""
        places = changes([_good(entry) for entry in self.entries], self._noise())
        borders = [0, *places, len(self.entries)]
        parts = [self.entries[begin:end] for begin, end in itertools.pairwise(borders)]
        return [
            FigureChange(before[-1], after[0], math.exp(_middle(after) - _middle(before)))
            for before, after in itertools.pairwise(parts)
        ]

    def _noise(self) -> float:
        """The standard deviation of a value, as a share: between the runs of an entry, and from one to the next."""
        if all(entry.is_exact and len(set(entry.values)) == 1 for entry in self.entries):
            return _EXACT_NOISE
        within = [
            statistics.variance(map(math.log, entry.values)) / len(entry.values)
            for entry in self.entries
            if len(entry.values) > 1
        ]
        found = [_NOISE, *([_OF_A_MEDIAN * math.sqrt(statistics.fmean(within))] if within else [])]
        if len(self.entries) >= _ENOUGH:
            values = [_good(entry) for entry in self.entries]
            moves = [abs(other - one) for one, other in itertools.pairwise(values)]
            found.append(statistics.median(moves) / _NORMAL_MAD / math.sqrt(2))
        return max(found)


def over_versions(entries: Iterable[Entry]) -> list[Series]:
    """The newest measurement of each version, for firmware with more than one version."""
    found = []
    for (name, *_), of in _together(entries, _without_version).items():
        newest = {entry.version: entry for entry in of}  # those are in the order of time
        if len(newest) > 1:
            found.append(Series(SeriesAxis.VERSION, str(name), tuple(sorted(newest.values(), key=version_order))))
    return found


def over_time(entries: Iterable[Entry]) -> list[Series]:
    """The history of each runtime that was measured more than once."""
    together = _together(entries, lambda entry: entry.runtime)
    return [Series(SeriesAxis.TIME, str(name), tuple(of)) for (name, *_), of in together.items() if len(of) > 1]


def over_commits(entries: Iterable[Entry]) -> list[Series]:
    """The history of each row over commits, in their order."""
    return [Series(SeriesAxis.COMMIT, "", tuple(of)) for of in _together(entries, lambda entry: "").values()]


def version_order(entry: Entry) -> tuple[Any, ...]:
    """1.9 before 1.20, and 1.27.0-preview before 1.27.0, but 1.20.0-370 after 1.20.0."""
    release = re.match(r"[\d.]*", entry.version)
    numbers = [int(number) for number in re.findall(r"\d+", release[0] if release else "")]
    rest = entry.version[release.end() if release else 0 :]
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", rest)]
    return numbers, 0 if _BEFORE_RELEASE.search(rest) else 1, parts


def changes(values: Sequence[float], noise: float) -> list[int]:
    """The places where the mean changes, by an exact search (PELT) with a penalty on each.

    Raises LibraryMissing.
    """
    if len(values) < 2 or min(values) == max(values):
        return []
    penalty = _PENALTY * noise**2 * math.log(max(3, len(values)))
    found: list[int] = _ruptures().Pelt(model="l2", min_size=1, jump=1).fit_predict(_column(values), pen=penalty)
    return found[:-1]  # the last is the end


def _together(entries: Iterable[Entry], name: Callable[[Entry], str]) -> dict[tuple[object, ...], list[Entry]]:
    found: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        place = (entry.workload, entry.where, entry.timed_by, entry.board, entry.profile)
        conditions = (entry.is_exact, entry.figure, _text(entry.settings), _text(entry.conditions))
        found.setdefault((name(entry), *place, *conditions), []).append(entry)
    return found


def _text(values: object) -> str:
    return json.dumps(values, sort_keys=True)


def _without_version(entry: Entry) -> str:
    """`micropython` of `micropython-1.26.0`."""
    return entry.runtime.replace(f"-{entry.version}", "") if entry.version else entry.runtime


def _good(entry: Entry) -> float:
    """The value as a logarithm, of which more is better."""
    return math.log(entry.value) * (1 if entry.better == "higher" else -1)


def _middle(entries: Sequence[Entry]) -> float:
    return statistics.median(map(_good, entries))


def _column(values: Sequence[float]) -> Any:
    import numpy

    return numpy.asarray(values, dtype=float).reshape(-1, 1)


def _ruptures() -> Any:
    with LibraryMissing.unless_installed("history", "finding steps in a history"):
        import ruptures
    return ruptures
