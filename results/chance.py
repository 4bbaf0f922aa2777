"""The difference of two samples, and how sure it is."""

import math
import statistics
import warnings
from collections.abc import Sequence
from typing import Any, Final

from portbench.errors import LibraryMissing

LEVEL: Final = 0.05
"""The share of comparisons of equal runs that may show a difference: 5 of 100."""
_NEEDED: Final = ("compare", "comparing runs that differ by chance")


def check_installed() -> None:
    """Raises LibraryMissing, without the second that the import takes."""
    LibraryMissing.unless_found("scipy", *_NEEDED)


def mean_interval(shifts: Sequence[float]) -> tuple[float, float, float]:
    """The mean with its interval by Student's t. One run alone has no interval: it is what it is."""
    middle = math.fsum(shifts) / len(shifts)
    if min(shifts) == max(shifts):
        return shifts[0], shifts[0], shifts[0]
    interval = _scipy().ttest_1samp(shifts, 0.0).confidence_interval(1 - LEVEL)
    return middle, float(interval.low), float(interval.high)


def shift_of_samples(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float, float]:
    """Hodges and Lehmann's estimate, the median of all differences; a bootstrap interval; Mann and Whitney's test.

    With too few values for that test, the means' difference with interval and p of Welch's t-test.
    """
    if {*ours, *theirs} == {ours[0]}:
        return 0.0, 0.0, 0.0, 1.0
    if least_p(len(ours), len(theirs)) >= LEVEL:
        return _welch(ours, theirs)
    stats = _scipy()
    import numpy  # which comes with it

    p = float(stats.mannwhitneyu(ours, theirs).pvalue)

    def shift(a: object, b: object, axis: int = -1) -> object:
        first, second = numpy.asarray(a), numpy.asarray(b)
        differences = second[..., :, None] - first[..., None, :]
        return numpy.median(differences.reshape(*differences.shape[:-2], -1), axis=axis)

    middle = float(shift(ours, theirs))  # type: ignore[arg-type]
    if len(ours) < 2 or len(theirs) < 2:
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


def least_p(ours: int, theirs: int) -> float:
    """The least p of Mann and Whitney's test: all values of one are above all of the other."""
    return 2 / math.comb(ours + theirs, ours)


def _welch(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float, float]:
    """No test of fewer than three values: two that are equal by chance would pass for values without spread."""
    middle = statistics.fmean(theirs) - statistics.fmean(ours)
    if min(len(ours), len(theirs)) < 3:
        return middle, middle, middle, 1.0
    with warnings.catch_warnings(action="ignore"):  # of values without spread, which is meant
        test = _scipy().ttest_ind(theirs, ours, equal_var=False)
        interval = test.confidence_interval(1 - LEVEL)
    return middle, float(interval.low), float(interval.high), float(test.pvalue)


def _scipy() -> Any:
    with LibraryMissing.unless_installed(*_NEEDED):
        from scipy import stats
    return stats
