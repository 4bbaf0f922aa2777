"""A row is whole or refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from portbench.results.model import Row, Sim, Status
from portbench.where import Where


def row(**changes: Any) -> Row:
    fields: dict[str, Any] = {
        "runtime": "some-1.0",
        "family": "micropython",
        "version": "1.0",
        "where": "emulated",
        "status": "measured",
        "messages": 4,
        "total_us": 2000,
        "round_trip_us": [500, 499, 501, 500],
    }
    return Row(**(fields | changes))


def test_rate_is_worked_out() -> None:
    assert row().messages_per_s == 2000
    assert row(messages_per_s=2000.5).messages_per_s == 2000.5


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"round_trip_us": [500]}, "1 round trips for 4 messages"),
        ({"total_us": 0}, "above 0"),
        ({"total_us": None}, "above 0"),
        ({"total_us": float("nan")}, "total_us"),
        ({"total_us": float("inf")}, "finite"),
        ({"messages": 0, "round_trip_us": []}, "above 0"),
        ({"messages_per_s": 100}, "is not messages / total_us"),
        ({"round_trip_us": [1, 2, 3, -4]}, "greater than or equal to 0"),
        ({"where": "simulated"}, "'silicon', 'emulated' or 'hosted'"),
        ({"status": "skipped"}, "a skipped row needs a reason"),
        ({"status": "failed", "reason": "two\nlines"}, "a failed row needs a reason of one line"),
        ({"image_sha256": "abc"}, "pattern"),
        ({"speed": 3}, "Extra inputs"),
    ],
)
def test_bad_rows_are_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        row(**changes)
    assert part in str(caught.value)


def test_skipped_row_needs_no_figures() -> None:
    skipped = Row(runtime="x", family="wiznet", version="", where=Where.EMULATED, status=Status.SKIPPED, reason="no")
    assert skipped.status is Status.SKIPPED and skipped.messages_per_s is None


def test_simulated_figures_leave_out_what_the_host_adds() -> None:
    first = row(sim=Sim(host_s=1.0, counters={"spi_bytes": 10}), log="a.log", console_tail=["x"])
    second = row(sim=Sim(host_s=2.0, counters={"spi_bytes": 10}), log="b.log")
    assert first.simulated_figures() == second.simulated_figures()
    assert first.simulated_figures() != row(sim=Sim(host_s=1.0, counters={"spi_bytes": 11})).simulated_figures()
    assert first.simulated_figures() != row(sim=first.sim, round_trip_us=[500, 499, 501, 501]).simulated_figures()
