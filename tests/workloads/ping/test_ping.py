"""Requests of a board, the figures of its pings, and rows of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from portbench.results.model import Status
from portbench.workloads import BadResult, ConversationError, PingPlan, Session, workload
from portbench.workloads.conversation import FRAME_BYTES
from portbench.workloads.ping.workload import MOST_COUNT, MOST_INTERVAL_MS, PingsOnDemand, Settings
from tests.measuring import Measure

PING = workload("ping")
SAYS = {"pinged": True}


def session(*trips: tuple[int, float | None]) -> Session:
    sizes, round_trips = zip(*trips, strict=True) if trips else ((), ())
    return Session(
        number=0,
        peer="10.0.0.2:4000",
        started_us=0.0,
        ended_us=9e6,
        exchanges=1,
        received_bytes=20,
        error=None,
        ping_bytes=list(sizes),
        ping_round_trip_us=list(round_trips),
    )


def test_figures_are_what_ping_prints() -> None:
    pings = session((56, 2000.0), (56, 4000.0), (56, None), (1300, 5000.0), (1300, 5000.0), (1300, 8000.0))
    measured = PING.check(SAYS, Settings(sizes="56,1300", count=3), [pings])
    figures = measured.figures
    assert [figures[f"{name}_us"] for name in ("min", "avg", "max", "mdev")] == [2000, 3000, 4000, 1000]
    assert (figures["lost_56"], figures["lost_1300"], figures["lost_percent"]) == (1, 0, 100 / 6)
    assert figures["largest_avg_us"] == figures["avg_1300_us"] == 6000
    assert measured.samples == {"round_trip_56_us": [2000, 4000], "round_trip_1300_us": [5000, 5000, 8000]}


@pytest.mark.parametrize(
    ("result", "pings", "says"),
    [
        ({"pinged": False}, session((56, 1.0)), "the client's pinged is False"),
        (SAYS, session(), "the PC sent 0 pings, not 1"),
        (SAYS, session((57, 1.0)), "or not of the sizes that were asked for"),
        (SAYS, session((56, None)), "none of 1 pings of 56 bytes was answered"),
    ],
)
def test_a_result_that_is_none(result: dict[str, Any], pings: Session, says: str) -> None:
    with pytest.raises(BadResult) as error:
        PING.check(result, Settings(sizes="56", count=1), [pings])
    assert says in str(error.value)


@pytest.mark.parametrize("sizes", ["", "a", "-1", "1473", "56,", "56,56", "1,2,3,4,5,6,7,8,9", "00056"])
def test_sizes_that_are_none(sizes: str) -> None:
    with pytest.raises(ValidationError):
        Settings(sizes=sizes)


@given(
    st.lists(st.integers(0, FRAME_BYTES), min_size=1, max_size=8, unique=True),
    st.integers(1, MOST_COUNT),
    st.integers(1, MOST_INTERVAL_MS),
    st.data(),
)
def test_a_board_asks_however_its_bytes_are_cut(sizes: list[int], count: int, ms: int, data: st.DataObject) -> None:
    line = b"ping %s %d %d\n" % (",".join(map(str, sizes)).encode(), count, ms)
    conversation = PingsOnDemand(1000)
    cut = data.draw(st.integers(1, len(line) - 1))
    assert conversation.receive(line[:cut]) == b"" and conversation.pings is None
    assert conversation.receive(line[cut:]) == b""
    plan = conversation.pings
    assert plan is not None and (plan.sizes, plan.count, plan.interval_us) == (tuple(sizes), count, ms * 1000)
    assert conversation.pinged() == b"done" and conversation.exchanges == 1
    conversation.receive(b'{"pinged": ')
    with pytest.raises(ConversationError):
        conversation.eof()
    conversation.receive(b"true}\n")
    assert conversation.report == SAYS
    conversation.eof()


@pytest.mark.parametrize(
    "line",
    [
        b"pong\n",
        b"ping 56 0 1\n",
        b"ping 1473 1 1\n",
        b"ping 56 1001 1\n",
        b"ping 56 1 10001\n",
        b"ping 56 1\n",
        b"ping 1,2,3,4,5,6,7,8,9 1 1\n",
        b"x" * 100,
        b"ping 56 1 1\nping",
    ],
)
def test_what_no_pc_sends(line: bytes) -> None:
    with pytest.raises(ConversationError, match="not a valid request for pings"):
        PingsOnDemand(1000).receive(line)


def test_a_board_that_does_not_wait() -> None:
    asked = PingsOnDemand(1000)
    asked.receive(b"ping 56 1 1\n")
    with pytest.raises(ConversationError, match="the board closed before its pings were over"):
        asked.eof()
    with pytest.raises(ConversationError, match="while it was pinged"):
        asked.receive(b"x")
    asked.pinged()
    with pytest.raises(ConversationError, match="after the end"):
        asked.receive(b"x")


def test_a_plan_sends_one_size_after_the_other() -> None:
    plan = PingPlan((56, 9), 2, 100, 1000)
    assert list(plan) == [(0, 56), (100, 56), (200, 9), (300, 9)] and plan.lasts_us == 1300


def test_the_native_client_asks_for_what_it_has() -> None:
    PING.check_room("native", Settings(count=7))
    with pytest.raises(ValueError, match="the native client has sizes 56,512,1300, interval_ms 103"):
        PING.check_room("native", Settings(sizes="56"))
    assert PING.native_settings(Settings(count=7)) == [7]


@pytest.mark.engine
def test_the_chip_answers_at_the_speed_of_the_wire(measured_row: Measure) -> None:
    """Without the firmware: two frames of 98 (and 1342) bytes, 8 of preamble and 4 of check sequence at 80 ns a byte,
    and a byte of the chip's."""
    rows = [measured_row(PING, "portbench-native", "tuned", count=2) for _ in range(2)]
    assert rows[0].status is Status.MEASURED, rows[0].reason
    assert rows[0].simulated_figures() == rows[1].simulated_figures()
    assert rows[0].figures["min_us"] == rows[0].figures["max_us"] == pytest.approx(2 * 110 * 0.08)
    assert rows[0].figures["largest_avg_us"] == pytest.approx(2 * 1354 * 0.08)
