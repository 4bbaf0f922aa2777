"""Two runs, row by row: the ratio of what ranks them, how sure it is, and whether one is slower.

Rows that were measured under the very same conditions (`-s seed=fixed`, or one seed) are compared run by run: all
differences are the firmware's. Others are samples with different jitter; a difference has to be larger than chance.
"""

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from portbench.results.chance import LEVEL, least_p, mean_interval, shift_of_samples
from portbench.results.layout import Split, splits
from portbench.results.model import RunFile, TimedBy
from portbench.results.stats import Group, group_rows
from portbench.where import Where


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
        """True if there are too few runs to tell this difference from chance."""
        few = self.basis is Basis.SAMPLES and least_p(self.before.value.n, self.after.value.n) >= LEVEL
        return few and not self.differs and not self.splits

    @property
    def splits(self) -> list[Split]:
        """Code and layout, of the headline first; empty unless both were run in other layouts."""
        return splits(self.before, self.after)

    @property
    def judged(self) -> float:
        """The share by which B is slower: of its code, where code and layout are separate."""
        return found[0].code if (found := self.splits) else self.slower

    def is_slower_than(self, limit: float) -> bool:
        """True if B is slower by more than the share `limit`, and not by chance."""
        certain = found[0].is_code if (found := self.splits) else self.differs
        return self.judged > limit and certain


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
    asked = (row.conditions.spi_hz_asked, row.conditions.address_mode)
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
        slower, low, high = map(math.expm1, mean_interval(shifts))
        return Comparison(before, after, Basis.SAME_JITTER, slower, low, high, None)
    *shift, p = shift_of_samples(ours, theirs)
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
