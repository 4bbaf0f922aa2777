"""Statistics against figures worked out by hand and against properties."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results.model import Published, Row, Settings
from portbench.results.stats import DRIFT_LIMIT, drift, group_rows, summarize
from portbench.where import Where


def row(total_us: int, index: int = 0, trips: list[int] | None = None, **changes: object) -> Row:
    trips = trips or [total_us // 4] * 4
    fields: dict[str, object] = {
        "runtime": "some-1.0",
        "family": "micropython",
        "version": "1.0",
        "where": "emulated",
        "status": "measured",
        "run_index": index,
        "messages": len(trips),
        "total_us": total_us,
        "round_trip_us": trips,
    }
    return Row(**(fields | changes))  # type: ignore[arg-type]


def test_summary_of_known_numbers() -> None:
    summary = summarize([1, 2, 3, 4, 100])
    assert (summary.n, summary.median, summary.min, summary.max) == (5, 3, 1, 100)
    assert summary.iqr == pytest.approx(2.0) and summary.spread == pytest.approx(33.0)
    assert summary.p90 == pytest.approx(61.6) and summary.p99 == pytest.approx(96.16)


def test_summary_of_one_number() -> None:
    summary = summarize([7.0])
    assert (summary.n, summary.median, summary.spread, summary.iqr, summary.p99) == (1, 7.0, 0.0, 0.0, 7.0)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
def test_summary_is_ordered_and_ignores_order(values: list[int]) -> None:
    summary = summarize(values)
    assert summary == summarize(values[::-1])
    assert summary.min <= summary.median <= summary.max and summary.median == statistics.median(values)
    assert summary.median <= summary.p90 + 1e-6 and summary.p90 <= summary.p99 + 1e-6
    assert summary.p99 <= summary.max + 1e-6 and 0 <= summary.iqr <= summary.max - summary.min + 1e-6


def test_drift_compares_the_halves() -> None:
    assert drift([100] * 50 + [120] * 50) == pytest.approx(20 / 110)
    assert drift([100, 120] * 50) == 0
    assert drift([1, 9, 9]) == 0


def test_groups_hold_runs_together_and_settings_apart() -> None:
    slow = Settings(spi_hz_asked=2_000_000)
    rows = [
        row(4000, 0),
        row(4040, 1),
        row(4080, 2),
        row(8000, 0, settings=slow),
        row(4000, 0, image_sha256="0" * 64),
        row(1000, 0, where="hosted"),
        row(4000, 0, trips=[1000] * 8),
    ]
    groups = group_rows(rows, Where.EMULATED)
    assert [(len(group.rows), group.first.messages) for group in groups] == [(1, 8), (1, 4), (3, 4), (1, 4)]
    together = groups[2]
    assert together.messages_per_s.n == 3 and together.messages_per_s.median == pytest.approx(4e6 / 4040)
    assert together.round_trip_us.n == 12 and together.round_trip_us.median == 1010
    assert together.unstable == []
    assert [group.first.where for group in group_rows(rows, Where.HOSTED)] == [Where.HOSTED]
    assert group_rows(rows, Where.SILICON) == []


def test_measured_turnaround_does_not_split_a_group_but_a_simulated_one_does() -> None:
    def rows(where: str) -> list[Row]:
        return [row(4000, n, where=where, settings=Settings(turnaround_us=200 + n)) for n in range(2)]

    assert len(group_rows(rows("hosted"), Where.HOSTED)) == 1
    assert len(group_rows(rows("emulated"), Where.EMULATED)) == 2


def test_unstable_runs_and_drift_are_flagged() -> None:
    (spread,) = group_rows([row(4000, 0), row(4400, 1)], Where.EMULATED)
    assert spread.unstable == ["runs spread by 10%"]
    trips = [1000] * 10 + [1300] * 10
    (drifting,) = group_rows([row(23_000, trips=trips)], Where.EMULATED)
    assert drifting.unstable == ["drifts by 26% within a run"] and drift(trips) > DRIFT_LIMIT


def test_published_and_ready() -> None:
    published = Published(total_s=[1.377, 1.383, 1.388], messages=1000, source="someone")
    (group,) = group_rows([row(4000, n, published=published, ready_us=100 * n) for n in range(3)], Where.EMULATED)
    assert group.published_per_s == pytest.approx(1000 / 1.383) and group.ready_us == 100
    (bare,) = group_rows([row(4000)], Where.EMULATED)
    assert bare.published_per_s is None and bare.ready_us is None
