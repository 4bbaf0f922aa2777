"""Messages of the board, the stages of a start, and rows of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results.model import Status
from portbench.workloads import BadResult, ConversationError, Session, workload
from tests.measuring import Measure

READY = workload("ready")
SAID = {"booted_us": 5_000, "link_us": 1_500_000, "ready_us": 1_520_000, "answered_us": 1_521_500}
STAGES = ("boot_ms", "link_ms", "address_ms", "connect_ms", "answer_ms")


def session(leased_us: float | None) -> Session:
    return Session(
        number=0,
        peer="10.0.0.2:4000",
        started_us=1_524_000.0,
        ended_us=None,
        exchanges=1,
        received_bytes=6,
        error=None,
        established_us=1_524_000.0,
        leased_us=leased_us,
    )


def test_stages_add_up() -> None:
    measured = READY.check(SAID, READY.settings_type(), [session(1_521_000.0)])
    assert [measured.figures[name] for name in STAGES] == [5, 1500, 17, 3, 1.5]
    assert measured.figures["up_ms"] == sum(measured.figures[name] for name in STAGES[:-1]) == 1525
    assert measured.samples["up_ms"] == [1525]


def test_a_driver_that_tells_of_its_link_with_the_address_only_leaves_nothing_for_it() -> None:
    figures = READY.check(SAID, READY.settings_type(), [session(1_490_000.0)]).figures
    assert (figures["address_ms"], figures["connect_ms"], figures["network_ms"]) == (0, 20, 20)


@pytest.mark.parametrize("sessions", [[], [session(None)]])
def test_where_nobody_knows_the_lease_address_and_connection_are_one(sessions: list[Session]) -> None:
    figures = READY.check(SAID, READY.settings_type(), sessions).figures
    assert figures["network_ms"] == 20 and "address_ms" not in figures and figures["up_ms"] == 1525


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"booted_us": -1}, "the client's booted_us is -1"),
        ({"ready_us": 1_400_000}, "are not in the order of time"),
        ({"answered_us": 1_510_000}, "are not in the order of time"),
    ],
)
def test_a_result_that_is_none(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(BadResult) as error:
        READY.check(SAID | changed, READY.settings_type(), [session(None)])
    assert says in str(error.value)


@given(st.integers(1, 5), st.integers(1, 10))
def test_a_board_says_it_however_its_bytes_are_cut(cut: int, later: int) -> None:
    hears = READY.conversation(1000)
    assert hears.receive(b"ready\n"[:cut]) == b""
    assert hears.receive(b"ready\n"[cut:]) == b"ok"
    assert hears.exchanges == 1
    hears.eof()
    report = b'{"booted_us": 0}\n'
    hears.receive(report[:later])
    with pytest.raises(ConversationError, match="within its report"):
        hears.eof()
    hears.receive(report[later:])
    assert hears.report == {"booted_us": 0}
    hears.eof()


@pytest.mark.parametrize("data", [b"steady\n", b"ready\nready\n", b"ready?"])
def test_a_board_that_says_something_else(data: bytes) -> None:
    with pytest.raises(ConversationError, match="not ready"):
        READY.conversation(1000).receive(data)


@pytest.mark.parametrize("data", [b"ready\n", b"{}\n{}\n", b"{]\n"])
def test_a_board_that_says_too_much(data: bytes) -> None:
    hears = READY.conversation(1000)
    hears.receive(b"ready\n")
    with pytest.raises(ConversationError):
        hears.receive(data)


@pytest.mark.engine
def test_the_native_client_is_ready_as_soon_as_the_link_is(measured_row: Measure) -> None:
    first, second = (measured_row(READY, "portbench-native", "tuned") for _ in range(2))
    assert first.status is Status.MEASURED, first.reason
    assert first.simulated_figures() == second.simulated_figures()
    figures = first.figures
    assert figures["boot_ms"] == 0 and 100 < figures["link_ms"] < 110 and figures["network_ms"] < 5
    assert figures["address_ms"] + figures["connect_ms"] == pytest.approx(figures["network_ms"])
