"""Statistics against figures worked out by hand and against properties."""

import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results.model import Row, Where
from portbench.results.stats import DRIFT_LIMIT, drift, group_rows, summarize
from tests.results.rows import other_row, row


def test_summary_of_known_numbers() -> None:
    summary = summarize([1, 2, 3, 4, 100])
    assert (summary.n, summary.median, summary.min, summary.max) == (5, 3, 1, 100)
    assert summary.iqr == pytest.approx(2.0) and summary.spread == pytest.approx(33.0)
    assert summary.p90 == pytest.approx(61.6) and summary.p99 == pytest.approx(96.16)


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
    rows = [
        row(4000, 0),
        row(4040, 1),
        row(4080, 2),
        row(8000, 0, conditions={"spi_hz_asked": 2_000_000}),
        row(4000, 0, image_sha256="0" * 64),
        row(1000, 0, where="hosted"),
        row(4000, 0, trips=[1000] * 8),
        other_row(5),
    ]
    groups = group_rows(rows, "ping_pong", Where.EMULATED)
    assert [(len(group.rows), group.first.settings["messages"]) for group in groups] == [(1, 8), (1, 4), (3, 4), (1, 4)]
    together = groups[2]
    assert together.value.n == 3 and together.value.median == pytest.approx(4e6 / 4040)
    assert together.figure("total_us") == 4040 and together.figure("ready_us") is None
    round_trip_us = together.sample("round_trip_us")
    assert round_trip_us is not None and round_trip_us.n == 12 and round_trip_us.median == 1010
    assert together.sample("loops") is None
    assert together.unstable == []
    assert [group.first.where for group in group_rows(rows, "ping_pong", Where.HOSTED)] == [Where.HOSTED]
    assert group_rows(rows, "ping_pong", Where.SILICON) == []
    assert group_rows(rows, "far_away", Where.HOSTED) == []


def test_a_figure_is_the_median_of_the_runs_that_have_it() -> None:
    rows = [row(4000, number, figures={"hops": hops}) for number, hops in enumerate((1, 2, 9))]
    (group,) = group_rows([*rows, row(4000, 3)], "ping_pong", Where.EMULATED)
    assert group.figure("hops") == 2 and group.value.n == 4


def test_runs_are_in_the_order_of_their_numbers() -> None:
    rows = [row(4000 + number, number, trips=[number] * 4, attribution={}) for number in (2, 0, 3, 1)]
    (group,) = group_rows(rows, "ping_pong", Where.EMULATED)
    assert [each.run_index for each in group.rows] == [0, 1, 2, 3]
    assert group.first.run_index == 0 and group.attributed is group.first


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([other_row(lag) for lag in (100, 100, 105)], []),
        ([other_row(lag) for lag in (100, 100, 105.5)], ["runs spread by 6%"]),
        ([row(400, trips=[95.0, 95.0, 105.0, 105.0])], []),
        ([row(400, trips=[94.75, 94.75, 105.25, 105.25])], ["drifts by 10% within a run"]),
        ([row(400, trips=[105.25, 105.25, 94.75, 94.75])], ["drifts by 10% within a run"]),
        ([row(400, trips=[10.0, 99.0, 99.0])], []),
        ([row(400, where="hosted", lost=0.05)], []),
        ([row(400, where="hosted", lost=0.055)], ["had no processor for 6% of its time"]),
        (
            [row(400, n, where="hosted", lost=lost) for n, lost in enumerate((None, 0.01, 0.31))],
            ["had no processor for 31% of its time"],
        ),
    ],
)
def test_a_row_is_unstable_beyond_the_limits_of_the_rule(rows: list[Row], told: list[str]) -> None:
    (group,) = group_rows(rows, rows[0].workload, rows[0].where)
    assert group.unstable == told


def test_measured_turnaround_does_not_split_a_group_but_a_simulated_one_does() -> None:
    def rows(where: str) -> list[Row]:
        return [row(4000, n, where=where, conditions={"turnaround_us": 200 + n}) for n in range(2)]

    assert len(group_rows(rows("hosted"), "ping_pong", Where.HOSTED)) == 1
    assert len(group_rows(rows("emulated"), "ping_pong", Where.EMULATED)) == 2


def test_samples_of_a_workload_that_is_not_here_are_not_judged() -> None:
    """Their trend is unknown."""
    (group,) = group_rows([other_row(10)], "far_away", Where.EMULATED)
    assert drift(group.first.samples["round_trip_us"]) > DRIFT_LIMIT and group.unstable == []


def test_what_differs_is_a_group_of_its_own() -> None:
    told: dict[str, Any] = {"build": "other/some.uf2", "profile": "tuned", "board": "W5500_EVB_PICO2", "version": "1.1"}
    told |= {"runtime": "some-1.1", "conditions": {"intn": True}, "libraries": {"own": "1.0 ab"}}
    for name, value in told.items():
        assert len(group_rows([row(4000), row(4000, 1, **{name: value})], "ping_pong", Where.EMULATED)) == 2, name
