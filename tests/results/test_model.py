"""A row is whole or refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from portbench.results.attribution import CAUSES, GROUPS, Attribution, Spans
from portbench.results.model import Row, Sim, Status, Where
from tests.results.rows import other_row, row


def test_value_is_the_headline_figure() -> None:
    assert row(2000).value == 2000
    assert other_row(12.5).value == 12.5


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"figures": {"messages_per_s": 0}}, "needs a headline figure above 0"),
        ({"figures": {"messages_per_s": -1}}, "needs a headline figure above 0"),
        ({"headline": None}, "needs a headline figure above 0"),
        ({"headline": {"name": "bytes_per_s", "unit": "bytes/s"}}, "needs a headline figure above 0"),
        ({"headline": {"name": "total_us", "unit": "us", "better": "shorter"}}, "'higher' or 'lower'"),
        ({"headline": {"name": "total_us", "unit": ""}}, "at least 1 character"),
        ({"figures": {"total_us": float("nan")}}, "total_us"),
        ({"figures": {"total_us": float("inf")}}, "less than or equal"),
        ({"figures": {"total_us": "2000 us"}}, "total_us"),
        ({"figures": {"total_us": None}}, "total_us"),
        ({"samples": {"round_trip_us": [1, 2, 3, float("nan")]}}, "greater than or equal"),
        ({"samples": {"round_trip_us": [1, None]}}, "round_trip_us"),
        ({"settings": {"messages": None}}, "messages"),
        ({"settings": {"messages": [4]}}, "messages"),
        ({"conditions": {"turnaround_us": -1}}, "greater than or equal to 0"),
        ({"conditions": {"messages": 4}}, "Extra inputs"),
        ({"where": "simulated"}, "'silicon', 'emulated' or 'hosted'"),
        ({"status": "skipped"}, "a skipped row needs a reason"),
        ({"status": "failed", "reason": ""}, "a failed row needs a reason"),
        ({"image_sha256": "abc"}, "pattern"),
        ({"workload": ""}, "at least 1 character"),
        ({"build": ""}, "at least 1 character"),
        ({"messages": 4}, "Extra inputs"),
    ],
)
def test_bad_rows_are_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        row(2000, **changes)
    assert part in str(caught.value)


def test_skipped_row_needs_no_figures() -> None:
    skipped = Row(
        workload="ping_pong",
        runtime="x",
        build="x.uf2",
        family="wiznet",
        version="",
        where=Where.EMULATED,
        status=Status.SKIPPED,
        reason="no",
    )
    assert skipped.status is Status.SKIPPED and skipped.value is None and skipped.figures == {}


def test_simulated_figures_leave_out_what_the_host_adds() -> None:
    first = row(2000, sim=Sim(host_s=1.0, counters={"spi_bytes": 10}), log="a.log", console_tail=["x"])
    second = row(2000, sim=Sim(host_s=2.0, counters={"spi_bytes": 10}), log="b.log", build="elsewhere/some.uf2")
    assert first.simulated_figures() == second.simulated_figures()
    assert first.simulated_figures() != row(2000, sim=Sim(host_s=1.0, counters={"spi_bytes": 11})).simulated_figures()
    trips = {"round_trip_us": [500, 500, 500, 501]}
    assert first.simulated_figures() != row(2000, sim=first.sim, samples=trips).simulated_figures()
    ready = row(2000, sim=first.sim, figures={"ready_us": 1})
    assert first.simulated_figures() != ready.simulated_figures()


def _spans() -> Spans:
    return Spans(
        names=["message", "message", "loop"],
        start_ps=[10, 200, 900],
        duration_ps=[100, 300, 7],
        reported_us=[1.0, 2.0, None],
        causes_ps={"spi_bits": [40, 100, 0], "gap_miss": [60, 0, 0], "code_miss": [0, 200, 7]},
        counts={"spi_bytes": [4, 0, 0]},
        interrupts={"TIMER_IRQ_0": [0, 2, 0]},
    )


def test_a_span_has_what_is_not_zero() -> None:
    second = _spans()[1]
    assert second.causes_ps == {"spi_bits": 100, "code_miss": 200}
    assert (second.counts, second.interrupts) == ({}, {"TIMER_IRQ_0": 2})
    assert second.share("spi_bits") == pytest.approx(1 / 3)
    assert second.ps("code") == 200


def test_every_cause_has_its_group() -> None:
    assert {cause.group for cause in CAUSES.values()} == set(GROUPS)


def test_json_and_back() -> None:
    whole = Attribution(spans=_spans(), spi_hz=12_000_000)
    assert Attribution.model_validate_json(whole.model_dump_json()) == whole
