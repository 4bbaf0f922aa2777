"""A difference between two builds, divided into code and layout.

The cache has few sets, and where the linker puts a function decides which others it pushes out. So each build is also
run with its flash in other, drawn layouts. The average difference over these layouts is code. The rest of the
difference is layout: the luck of the two that the linker made.
"""

import math
import statistics
from dataclasses import dataclass

from portbench.results.chance import mean_interval
from portbench.results.model import Layouts
from portbench.results.stats import Group, known_workload


@dataclass(frozen=True)
class Split:
    """The difference of one figure. All shares are of A's time, as `Comparison.slower`: above 0 B takes longer."""

    figure: str
    linked: float
    """Difference as both were linked."""
    free: float
    """With cache misses that take no time."""
    code: float
    """On average over the drawn layouts."""
    low: float
    high: float
    """The interval of `code`."""
    varies: tuple[float, float]
    """Standard deviation of A and of B over the drawn layouts."""

    @property
    def layout(self) -> float:
        """The rest: `linked` is both together."""
        return (1 + self.linked) / (1 + self.code) - 1

    @property
    def is_code(self) -> bool:
        """True if the code differs by more than chance."""
        return self.low > 0 or self.high < 0


def splits(before: Group, after: Group) -> list[Split]:
    """Divide the headline, then the workload's parts; empty unless both were run in other layouts."""
    ours, theirs = before.layouts, after.layouts
    if ours is None or theirs is None:
        return []
    known = known_workload(before.first.workload)
    names = [before.headline.name, *(known.parts if known else ())]
    there = [name for name in names if all(each.get(name, 0) > 0 for each in (*_all(ours), *_all(theirs)))]
    sign = -1.0 if before.headline.better == "higher" else 1.0
    return [_split(name, sign, ours, theirs) for name in there]


def _all(layouts: Layouts) -> list[dict[str, float]]:
    return [layouts.linked, layouts.free, *layouts.drawn]


def _split(name: str, sign: float, ours: Layouts, theirs: Layouts) -> Split:
    def shift(one: dict[str, float], other: dict[str, float]) -> float:
        return sign * math.log(other[name] / one[name])

    # The same number draws the same layout for both builds, so code in the same place adds nothing to the interval.
    shifts = [shift(one, other) for one, other in zip(ours.drawn, theirs.drawn, strict=False)]
    code, low, high = map(math.expm1, mean_interval(shifts))
    varies = tuple(statistics.stdev(math.log(each[name]) for each in layouts.drawn) for layouts in (ours, theirs))
    linked, free = (math.expm1(shift(*both)) for both in ((ours.linked, theirs.linked), (ours.free, theirs.free)))
    return Split(name, linked, free, code, low, high, (varies[0], varies[1]))
