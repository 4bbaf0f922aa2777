"""Statistics of rows, from their raw samples and figures."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from portbench.errors import UnknownName
from portbench.results.model import Headline, Layouts, Published, Row, Status, TimedBy
from portbench.where import Where
from portbench.workloads import Workload, workload

RUN_SPREAD_LIMIT: Final = 0.05
DRIFT_LIMIT: Final = 0.10
LOST_LIMIT: Final = 0.05

UNSTABLE_RULE: Final = (
    f"A row is *unstable* when the figures of its runs spread by more than {RUN_SPREAD_LIMIT:.0%} of their median,"
    f" or when within a run the median sample of the second half differs from that of the first half by more than"
    f" {DRIFT_LIMIT:.0%} of the run's median, or when a hosted program had no processor for more than {LOST_LIMIT:.0%}"
    " of its time."
)


@dataclass(frozen=True)
class Summary:
    """Statistics of a list of numbers, in their unit; `spread` is a share."""

    n: int
    median: float
    min: float
    max: float
    iqr: float
    """Third less first quartile."""
    p90: float
    p99: float

    @property
    def spread(self) -> float:
        """Largest less smallest, as a share of the median."""
        return (self.max - self.min) / self.median if self.median else 0.0


def summarize(values: Sequence[float]) -> Summary:
    """Summary of at least one number; quantiles are interpolated between neighbours (R-7, as in spreadsheets)."""
    if len(values) == 1:
        (value,) = values
        return Summary(1, value, value, value, 0.0, value, value)
    percentiles = statistics.quantiles(values, n=100, method="inclusive")
    return Summary(
        n=len(values),
        median=statistics.median(values),
        min=min(values),
        max=max(values),
        iqr=percentiles[74] - percentiles[24],
        p90=percentiles[89],
        p99=percentiles[98],
    )


def drift(samples: Sequence[float]) -> float:
    """Return the distance of the second half's median from the first's, as a share of the whole; 0 below 4 values."""
    if len(samples) < 4:
        return 0.0
    middle = len(samples) // 2
    first, second = statistics.median(samples[:middle]), statistics.median(samples[middle:])
    whole = statistics.median(samples)
    return abs(second - first) / whole if whole else 0.0


@dataclass(frozen=True)
class Group:
    """All measured runs of one workload on one runtime with one image, one profile and one set of settings."""

    rows: tuple[Row, ...]
    headline: Headline
    value: Summary
    """The headline figure over the runs."""

    @property
    def first(self) -> Row:
        """A row to read the common properties from."""
        return self.rows[0]

    def figure(self, name: str) -> float | None:
        """The figure's median over the runs that have it."""
        values = [row.figures[name] for row in self.rows if name in row.figures]
        return statistics.median(values) if values else None

    def sample(self, name: str) -> Summary | None:
        """Summary of the samples of all runs."""
        values = [value for row in self.rows for value in row.samples.get(name, ())]
        return summarize(values) if values else None

    @property
    def firmware(self) -> tuple[str, str]:
        """Runtime and build, which identify the firmware."""
        return self.first.runtime, self.first.build

    @property
    def attributed(self) -> Row | None:
        """The first run with its time by cause."""
        return next((row for row in self.rows if row.attribution is not None), None)

    @property
    def layouts(self) -> Layouts | None:
        """Figures in other flash layouts, from the first run that has them."""
        return next((row.layouts for row in self.rows if row.layouts is not None), None)

    def times(self, other: Group) -> float:
        """Return how many times better this is than `other`, which has the same headline."""
        here, there = self.value.median, other.value.median
        return here / there if self.headline.better == "higher" else there / here

    @property
    def publication(self) -> Published | None:
        """Published figures of silicon."""
        return next((row.published for row in self.rows if row.published is not None), None)

    def ratio_to(self, published: Published) -> float | None:
        """Return the figure measured here as a multiple of the published one; None where these rows do not have it."""
        here = self.value.median if published.figure is None else self.figure(published.figure)
        return None if here is None else here / published.median

    @property
    def unstable(self) -> list[str]:
        """The reasons to distrust the figures, by `UNSTABLE_RULE`; empty if they are stable."""
        reasons = []
        if self.value.spread > RUN_SPREAD_LIMIT:
            reasons.append(f"runs spread by {self.value.spread:.0%}")
        known = known_workload(self.first.workload)
        drifting = known.drifting if known else None
        if drifting and (worst := max(drift(row.samples.get(drifting, ())) for row in self.rows)) > DRIFT_LIMIT:
            reasons.append(f"drifts by {worst:.0%} within a run")
        if (lost := max(row.lost or 0.0 for row in self.rows)) > LOST_LIMIT:
            reasons.append(f"had no processor for {lost:.0%} of its time")
        return reasons


def group_rows(rows: Iterable[Row], workload: str, where: Where, timed_by: TimedBy = "board") -> list[Group]:
    """Groups of the measured rows of `workload`, of one kind and one clock, best first."""
    together: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        wanted = row.where is where and row.timed_by == timed_by and row.workload == workload
        if row.status is Status.MEASURED and wanted:
            # A measured turnaround differs from run to run; a simulated one is a setting.
            varying = set() if where is Where.EMULATED else {"turnaround_us"}
            conditions = row.conditions.model_dump_json(exclude=varying) + str(row.libraries)
            key = (row.runtime, row.build, row.version, str(row.board), str(row.profile), str(row.image_sha256))
            together.setdefault((*key, conditions, str(sorted(row.settings.items()))), []).append(row)
    groups = []
    for members in together.values():
        members.sort(key=lambda row: row.run_index)  # several boards end theirs in any order
        headline = members[0].headline
        assert headline is not None  # of a measured row
        values = [row.value for row in members if row.value is not None]
        groups.append(Group(tuple(members), headline, summarize(values)))
    return sorted(groups, key=lambda group: group.value.median * (-1 if group.headline.better == "higher" else 1))


def known_workload(name: str) -> Workload | None:
    """The workload; None where it is not installed here."""
    with contextlib.suppress(UnknownName):
        return workload(name)
    return None
