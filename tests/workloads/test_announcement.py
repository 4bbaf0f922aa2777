"""The connection of a client that listens and has no console."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import ConversationError, Readiness, workloads
from portbench.workloads.conversation import Announcement

LINE = b'PORTBENCH-LISTENING {"address":"192.168.50.100","port":5000}\n'
REPORT = b'{"answered":3}\n'
LISTENING = [each for each in workloads().values() if each.readiness is Readiness.LISTENING]


@given(st.lists(st.integers(0, len(LINE + REPORT)), max_size=8))
def test_line_and_report_come_however_they_are_cut(cuts: list[int]) -> None:
    said = Announcement(1000)
    whole = LINE + REPORT
    places = sorted({0, *cuts, len(whole)})
    for begin, end in pairwise(places):
        assert said.receive(whole[begin:end]) == b"" and not said.finished
        assert (said.listening is not None) is (end >= len(LINE))
    said.eof()
    assert said.listening == LINE.decode().strip() and said.report == {"answered": 3} and said.exchanges == 0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the board closed before it reported where it listens"),
        (LINE[:30], "the board closed before it reported where it listens"),
        (b"1", "the board said b'1', not where it listens"),
        (LINE.replace(b"\n", b" " * 100), "not where it listens"),
        (LINE + b"x", "the board said b'x' after it reported where it listens"),
        (LINE + REPORT[:5], "the board closed within its report"),
        (LINE + REPORT + b"x", "follows the report"),
    ],
)
def test_what_is_neither(data: bytes, says: str) -> None:
    said = Announcement(1000)
    with pytest.raises(ConversationError, match=says):
        if data:
            said.receive(data)
        said.eof()


def test_the_pc_serves_it_in_every_workload_whose_boards_listen() -> None:
    assert LISTENING
    assert all(isinstance(each.conversation(1000), Announcement) for each in LISTENING)
