"""Statistics of rows, from their raw round trips and totals."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from portbench.results.model import Row, Status, Where

RUN_SPREAD_LIMIT: Final = 0.05
DRIFT_LIMIT: Final = 0.10

UNSTABLE_RULE: Final = (
    f"A row is *unstable* when the messages/s of its runs spread by more than {RUN_SPREAD_LIMIT:.0%} of their median,"
    f" or when within a run the median round trip of the second half differs from that of the first half by more than"
    f" {DRIFT_LIMIT:.0%} of the run's median."
)


@dataclass(frozen=True)
class Summary:
    """Of a list of numbers, in their unit; `spread` has none."""

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


def drift(round_trip_us: Sequence[float]) -> float:
    """How far the second half's median lies from the first half's, as a share of the whole median; 0 below 4 values."""
    if len(round_trip_us) < 4:
        return 0.0
    middle = len(round_trip_us) // 2
    first, second = statistics.median(round_trip_us[:middle]), statistics.median(round_trip_us[middle:])
    whole = statistics.median(round_trip_us)
    return abs(second - first) / whole if whole else 0.0


@dataclass(frozen=True)
class Group:
    """All measured runs of one runtime with one image, one set of settings and one number of messages."""

    rows: tuple[Row, ...]
    messages_per_s: Summary
    """Over the runs."""
    round_trip_us: Summary
    """Over all messages of all runs."""

    @property
    def first(self) -> Row:
        """A row that stands for what all have in common."""
        return self.rows[0]

    @property
    def ready_us(self) -> float | None:
        """Median time to ready of the runs that report it."""
        values = [row.ready_us for row in self.rows if row.ready_us is not None]
        return statistics.median(values) if values else None

    @property
    def published_per_s(self) -> float | None:
        """Median messages/s that was published for silicon."""
        published = next((row.published for row in self.rows if row.published is not None), None)
        return statistics.median(published.messages / total_s for total_s in published.total_s) if published else None

    @property
    def unstable(self) -> list[str]:
        """Why the figures are not to be trusted, by `UNSTABLE_RULE`; empty if they are."""
        reasons = []
        if self.messages_per_s.spread > RUN_SPREAD_LIMIT:
            reasons.append(f"runs spread by {self.messages_per_s.spread:.0%}")
        if (worst := max(drift(row.round_trip_us) for row in self.rows)) > DRIFT_LIMIT:
            reasons.append(f"drifts by {worst:.0%} within a run")
        return reasons


def group_rows(rows: Iterable[Row], where: Where) -> list[Group]:
    """Groups of the measured rows of kind `where`, fastest first."""
    together: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.status is Status.MEASURED and row.where is where:
            # A measured turnaround differs from run to run; a simulated one is a setting.
            varying = set() if where is Where.EMULATED else {"turnaround_us"}
            settings = row.settings.model_dump_json(exclude=varying)
            key = (row.runtime, row.version, str(row.board), str(row.profile), str(row.image_sha256), settings)
            together.setdefault((*key, str(row.messages)), []).append(row)
    groups = [
        Group(
            rows=tuple(members),
            messages_per_s=summarize([row.messages_per_s for row in members if row.messages_per_s is not None]),
            round_trip_us=summarize([value for row in members for value in row.round_trip_us]),
        )
        for members in together.values()
    ]
    return sorted(groups, key=lambda group: -group.messages_per_s.median)
