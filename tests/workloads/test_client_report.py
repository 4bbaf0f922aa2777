"""The connection of a client without a console: it tells where it listens, if it does, and reports."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import ConversationError
from portbench.workloads.conversation import ClientReport

LINE = b'PORTBENCH-LISTENING {"address":"192.168.50.100","port":5000}\n'
REPORT = b'{"answered":3}\n'


@given(st.lists(st.integers(0, len(LINE + REPORT)), max_size=8))
def test_line_and_report_come_however_they_are_cut(cuts: list[int]) -> None:
    said = ClientReport(1000)
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
        (b"", "the board closed before it reported an address or a result"),
        (b"1", "the board closed before it reported an address or a result"),
        (LINE[:30], "the board closed before it reported an address or a result"),
        (b"2", "the board said b'2', not where it listens"),
        (REPORT[:5], "the board closed within its report"),
        (LINE.replace(b"\n", b" " * 100), "not where it listens"),
        (LINE + b"x", "the board said b'x' after its first line"),
        (LINE + REPORT[:5], "the board closed within its report"),
        (LINE + REPORT + b"x", "follows the report"),
    ],
)
def test_what_is_neither(data: bytes, says: str) -> None:
    said = ClientReport(1000)
    with pytest.raises(ConversationError, match=says):
        if data:
            said.receive(data)
        said.eof()


@pytest.mark.parametrize("before", [b"", b"1"])
def test_a_client_that_failed_before_it_listened_reports_alone_or_after_a_message(before: bytes) -> None:
    said = ClientReport(1000)
    assert not before or said.receive(before) == b"2"
    assert said.receive(b'{"error": "no SD') == b"" and said.report is None
    assert said.receive(b' card answers"}\n') == b"" and said.report == {"error": "no SD card answers"}
    said.eof()
    with pytest.raises(ConversationError, match="b'more' after its first line"):
        said.receive(b"more")
