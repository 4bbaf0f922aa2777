"""Two runs, row by row: the ratio of what ranks them, how sure it is, and whether one is slower.

Rows that were measured under the very same conditions (`-s seed=fixed`, or one seed) are compared run by run: all
differences are the firmware's. Others are samples with different jitter; a difference has to be larger than chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, get_args

from portbench.errors import LibraryMissing
from portbench.results.model import RunFile, TimedBy
from portbench.results.stats import Group, group_rows
from portbench.where import Where

LEVEL: Final = 0.05
"""The share of comparisons of equal runs that may show a difference: 5 of 100."""


class Basis(StrEnum):
    """The basis of a comparison."""

    EXACT = "exact"
    """Both repeat to the last digit."""
    SAME_JITTER = "same jitter"
    """Each run beside the other's run with the same jitter."""
    SAMPLES = "samples"
    """Runs with different jitter, or on real boards."""


@dataclass(frozen=True)
class Comparison:
    """One row of both. `slower` is the share of time that B takes more than A, negative where it takes less."""

    before: Group
    after: Group
    basis: Basis
    slower: float
    low: float
    high: float
    """The interval of `slower` at `LEVEL`; both ends equal `slower` where it is exact."""
    p: float | None
    """For samples: the probability of so large a difference by chance."""

    @property
    def differs(self) -> bool:
        """True if the difference is more than chance."""
        if self.p is not None:
            return self.p < LEVEL
        return self.slower != 0 if self.basis is Basis.EXACT else self.low > 0 or self.high < 0

    @property
    def too_few(self) -> bool:
        """True if there are too few runs to tell any difference from chance."""
        return self.basis is Basis.SAMPLES and _least_p(self.before.value.n, self.after.value.n) >= LEVEL

    def is_slower_than(self, limit: float) -> bool:
        """True if B is slower by more than the share `limit`, and not by chance."""
        return self.slower > limit and self.differs


def compare(before: RunFile, after: RunFile) -> list[Comparison]:
    """Compare the rows that both runs have measured, in the order of `before`. Raises LibraryMissing."""
    return [_compared(a, b) for a, b in pairs(before, after)]


def pairs(before: RunFile, after: RunFile) -> list[tuple[Group, Group]]:
    """The rows with the same workload, board, profile, settings and firmware in both runs. Where each run has only one
    firmware, the two are compared, whatever their names."""
    found = []
    for name in dict.fromkeys(row.workload for row in before.rows):
        for where, timed_by in itertools.product(Where, get_args(TimedBy)):
            ours = group_rows(before.rows, name, where, timed_by)
            theirs = group_rows(after.rows, name, where, timed_by)
            alone = len({each.firmware for each in ours}) == 1 == len({each.firmware for each in theirs})
            for one in ours:
                same = [each for each in theirs if _what(each) == _what(one)]
                if not alone:
                    same = [each for each in same if each.first.runtime == one.first.runtime]
                if same:  # of several, as in a sweep, the one with the most similar conditions
                    found.append((one, min(same, key=lambda each: _differences(one, each))))
    return found


def _what(group: Group) -> tuple[object, ...]:
    row = group.first
    asked = (row.conditions.spi_hz_asked, row.conditions.address_mode, bool(row.conditions.bridged))
    return row.board, row.profile, sorted(row.settings.items()), asked, group.headline


def _differences(one: Group, other: Group) -> int:
    """The number of conditions that differ."""
    ours, theirs = one.first.conditions.model_dump(), other.first.conditions.model_dump()
    return sum(value != theirs[name] for name, value in ours.items())


def _compared(before: Group, after: Group) -> Comparison:
    """Compare logarithms of times, in which faster and slower are symmetrical. A rate counts as its inverse."""
    sign = -1.0 if before.headline.better == "higher" else 1.0
    ours, theirs = _logs(before, sign), _logs(after, sign)
    if before.first.is_exact and after.first.is_exact:
        slower = math.expm1(theirs[0] - ours[0])
        return Comparison(before, after, Basis.EXACT, slower, slower, slower, None)
    together = _same_jitter(before, after)
    if together is not None:
        shifts = [theirs[b] - ours[a] for a, b in together]
        if not any(shifts):
            return Comparison(before, after, Basis.SAME_JITTER, 0.0, 0.0, 0.0, None)
        slower, low, high = map(math.expm1, _mean_interval(shifts))
        return Comparison(before, after, Basis.SAME_JITTER, slower, low, high, None)
    *shift, p = _shift_of_samples(ours, theirs)
    slower, low, high = map(math.expm1, shift)
    return Comparison(before, after, Basis.SAMPLES, slower, low, high, p)


def _logs(group: Group, sign: float) -> list[float]:
    return [sign * math.log(row.value) for row in group.rows if row.value is not None]


def _same_jitter(before: Group, after: Group) -> list[tuple[int, int]] | None:
    """Return the runs of both with the same jitter, by their places; None where there are none."""

    def jitters(group: Group) -> dict[tuple[object, ...], int] | None:
        found = {}
        for place, row in enumerate(group.rows):
            if row.sim is None or row.sim.seed is None:
                return None
            found[row.sim.seed, row.run_index, *sorted(row.sim.room.items())] = place
        return found if len(found) == len(group.rows) else None

    ours, theirs = jitters(before), jitters(after)
    if ours is None or theirs is None or before.first.conditions.turnaround_us != after.first.conditions.turnaround_us:
        return None
    together = [(ours[jitter], theirs[jitter]) for jitter in ours if jitter in theirs]
    return together or None


def _mean_interval(shifts: Sequence[float]) -> tuple[float, float, float]:
    """The mean with its interval by Student's t. One run alone has no interval: it is what it is."""
    middle = math.fsum(shifts) / len(shifts)
    if min(shifts) == max(shifts):
        return shifts[0], shifts[0], shifts[0]
    interval = _scipy().ttest_1samp(shifts, 0.0).confidence_interval(1 - LEVEL)
    return middle, float(interval.low), float(interval.high)


def _shift_of_samples(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float, float]:
    """Hodges and Lehmann's estimate, the median of all differences; a bootstrap interval; Mann and Whitney's test."""
    import numpy

    stats = _scipy()
    p = float(stats.mannwhitneyu(ours, theirs).pvalue) if {*ours, *theirs} != {ours[0]} else 1.0

    def shift(a: object, b: object, axis: int = -1) -> object:
        first, second = numpy.asarray(a), numpy.asarray(b)
        differences = second[..., :, None] - first[..., None, :]
        return numpy.median(differences.reshape(*differences.shape[:-2], -1), axis=axis)

    middle = float(shift(ours, theirs))  # type: ignore[arg-type]
    if len(ours) < 2 or len(theirs) < 2 or p == 1.0:
        return middle, middle, middle, p
    interval = stats.bootstrap(
        (ours, theirs),
        shift,
        n_resamples=2000,
        confidence_level=1 - LEVEL,
        method="percentile",
        vectorized=True,
        rng=numpy.random.default_rng(1),
    ).confidence_interval
    return middle, float(interval.low), float(interval.high), p


def _least_p(ours: int, theirs: int) -> float:
    """The least p of Mann and Whitney's test: all values of one are above all of the other."""
    return 2 / math.comb(ours + theirs, ours)


def _scipy() -> Any:
    with LibraryMissing.unless_installed("compare", "comparing runs that differ by chance"):
        from scipy import stats
    return stats
