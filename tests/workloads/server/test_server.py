"""The PC's numbers, figures of a run, and rows of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import BadResult, ConversationError, Session, workload
from portbench.workloads.server.workload import Asks, Settings

SERVER = workload("server")


def session(received_us: list[float], **more: Any) -> Session:
    known: dict[str, Any] = {"established_us": 150.0, "asked_us": 350.0, "error": None, "exchanges": len(received_us)}
    return Session(
        number=0,
        peer="10.0.0.2:5000",
        started_us=100.0,
        ended_us=9e6,
        received_bytes=9,
        received_us=received_us,
        **known | more,
    )


@given(st.integers(1, 40), st.data())
def test_numbers_go_back_and_forth_however_they_are_cut(messages: int, data: st.DataObject) -> None:
    asks = Asks(messages)
    says = asks.opened()
    for number in range(messages):
        assert says == b"%d" % (2 * number + 1)
        answer = b"%d" % (2 * number + 2)
        cut = data.draw(st.integers(0, len(answer) - 1))
        if cut:
            assert asks.receive(answer[:cut]) == b""
        says = asks.receive(answer[cut:])
    assert says == b"" and asks.finished and asks.exchanges == messages
    asks.eof()


@pytest.mark.parametrize("answers", [[b"3"], [b"22"], [b"2", b"2"], [b"2", b"4", b"67"], [b""]])
def test_a_board_that_cannot_count(answers: list[bytes]) -> None:
    asks = Asks(5)
    with pytest.raises(ConversationError, match=r"must be|closed after 0 of 5 messages"):
        for answer in answers:
            asks.receive(answer)
        asks.eof()


def test_the_first_message_is_apart() -> None:
    measured = SERVER.check({"answered": 3}, Settings(messages=3), [session([250_350.0, 252_350.0, 254_350.0])])
    assert measured.figures["messages_per_s"] == 500 and measured.figures["first_us"] == 250_000
    assert measured.figures["connect_us"] == 50 and measured.samples == {"message_us": [2000, 2000]}


@pytest.mark.parametrize(
    ("result", "sessions", "says"),
    [
        ({"answered": 1}, [session([1.0, 2.0])], "the client answered 1 messages, not 2"),
        ({"answered": 2}, [], "the PC had 0 connections to the board, not 1"),
        ({"answered": 2}, [session([1.0])], "the PC got 1 answers, not 2"),
        ({"answered": 2}, [session([1.0, 2.0], asked_us=None)], "the PC got 2 answers, not 2"),
    ],
)
def test_a_result_that_is_none(result: dict[str, Any], sessions: list[Session], says: str) -> None:
    with pytest.raises(BadResult) as error:
        SERVER.check(result, Settings(messages=2), sessions)
    assert says in str(error.value)
