"""The protocol object: the same stream gives the same answers however it is cut; anything else is one clear fault."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from portbench.workloads import ConversationError
from portbench.workloads.ping_pong.workload import PingPong


def stream(messages: int) -> bytes:
    return b"".join(b"%d" % (2 * number + 1) for number in range(messages))


def answers(messages: int) -> bytes:
    return b"".join(b"%d" % (2 * number + 2) for number in range(messages))


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[low:high] for low, high in pairwise(edges)]


def drive(data: bytes, cuts: list[int]) -> tuple[bytes, int, object, bool]:
    """Answers, messages, report and whether it was refused."""
    ping_pong = PingPong(max_report_bytes=1000)
    sent = b""
    try:
        for piece in pieces(data, cuts):
            sent += ping_pong.receive(piece)
        ping_pong.eof()
    except ConversationError as error:
        assert "\n" not in str(error)
        return sent + error.answer, ping_pong.exchanges, ping_pong.report, True
    return sent, ping_pong.exchanges, ping_pong.report, False


cut_lists = st.lists(st.integers(0, 10_000), max_size=12)


def test_thousand_messages_one_by_one() -> None:
    ping_pong = PingPong()
    for number in range(1, 2000, 2):
        assert ping_pong.receive(str(number).encode()) == str(number + 1).encode()
    ping_pong.eof()
    assert ping_pong.exchanges == 1000 and ping_pong.report is None


@given(st.integers(1, 120), cut_lists)
def test_cuts_do_not_change_the_answers(messages: int, cuts: list[int]) -> None:
    assert drive(stream(messages), cuts) == (answers(messages), messages, None, False)


@given(
    st.integers(1, 30), st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=4), cut_lists
)
def test_report_survives_cuts(messages: int, report: dict[str, object], cuts: list[int]) -> None:
    data = stream(messages) + json.dumps(report).encode() + b"\n"
    assert drive(data, cuts) == (answers(messages), messages, report, False)


@given(st.integers(0, 20), st.binary(max_size=1200), cut_lists)
def test_any_bytes_are_judged_the_same_however_cut(messages: int, tail: bytes, cuts: list[int]) -> None:
    data = stream(messages) + tail
    whole = drive(data, [])
    assert drive(data, cuts) == whole
    assert whole[0] == answers(whole[1])


@pytest.mark.parametrize(
    ("data", "messages", "part"),
    [
        (b"GET / HTTP/1.1\r\n", 0, "message 1 must be 1, not b'GET / HTTP"),
        (b"2", 0, "message 1 must be 1, not b'2'"),
        (b"01", 0, "must be 1"),
        (b"1\n", 1, r"message 2 must be 3, not b'\n'"),
        (b"14", 1, "message 2 must be 3, not b'4'"),
        (b"-1", 0, "must be 1"),
        (b'{"messages":1}\n', 0, "message 1 must be 1"),
        (b"\xff" * 100, 0, "and 76 bytes more"),
        (b"1{}\n3", 1, "b'3' follows the report"),
        (b"1{}\n\n", 1, r"b'\n' follows the report"),
        (b'1{"a":}\n', 1, "the report is not JSON"),
        (b'1{"a":NaN}\n', 1, "NaN is not JSON"),
        (b'1{"a":"\xff"}\n', 1, "the report is not JSON"),
        (b"1{" + b'"a":[' * 50_000 + b"\n", 1, "the report is not JSON"),
        (b'1{"a":' + b"9" * 5000 + b"}\n", 1, "the report is not JSON"),
        (b"1{" + b" " * (1 << 20), 1, "longer than 1048576 bytes"),
        (b"1{" + b" " * (1 << 20) + b"}\n", 1, "longer than 1048576 bytes"),
    ],
)
def test_faults_have_one_line(data: bytes, messages: int, part: str) -> None:
    ping_pong = PingPong()
    with pytest.raises(ConversationError) as caught:
        ping_pong.receive(data)
    assert part in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 250
    assert ping_pong.exchanges == messages and caught.value.answer == answers(messages)
    for call in (ping_pong.eof, lambda: ping_pong.receive(b"1")):
        with pytest.raises(ConversationError) as again:
            call()
        assert str(again.value) == str(caught.value)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "without a message"),
        (stream(5) + b"1", "within message 6, after b'1'"),
        (b'1{"a"', "within its report, after 4 bytes"),
    ],
)
def test_early_end_is_a_fault(data: bytes, part: str) -> None:
    ping_pong = PingPong()
    assert ping_pong.receive(data) == answers(ping_pong.exchanges)
    with pytest.raises(ConversationError, match=part):
        ping_pong.eof()


def test_nothing_goes_on_after_the_end() -> None:
    ping_pong = PingPong()
    ping_pong.receive(b"1")
    ping_pong.eof()
    with pytest.raises(ConversationError, match="has ended"):
        ping_pong.receive(b"3")


class Session(RuleBasedStateMachine):
    """A client that behaves, in pieces, until it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.ping_pong = PingPong()
        self.due = b"1"
        self.value = 1
        self.report: bytes | None = None
        self.over = False

    @precondition(lambda self: not self.over and self.report is None)
    @rule(size=st.integers(0, 6))
    def send_part(self, size: int) -> None:
        part, self.due = self.due[:size], self.due[size:]
        expected = b""
        if not self.due:
            expected = b"%d" % (self.value + 1)
            self.value += 2
            self.due = b"%d" % self.value
        assert self.ping_pong.receive(part) == expected

    @precondition(
        lambda self: not self.over and self.report is None and self.value > 1 and self.due == b"%d" % self.value
    )
    @rule()
    def start_report(self) -> None:
        assert self.ping_pong.receive(b"{") == b""
        self.report = b'"x":[1,2]}\n'

    @precondition(lambda self: not self.over and bool(self.report))
    @rule(size=st.integers(1, 12))
    def send_report_part(self, size: int) -> None:
        assert self.report is not None
        part, self.report = self.report[:size], self.report[size:]
        assert self.ping_pong.receive(part) == b""
        assert self.ping_pong.report == (None if self.report else {"x": [1, 2]})

    @precondition(lambda self: not self.over)
    @rule(junk=st.sampled_from([b"x", b" ", b"\n", b"}", b"\0"]))
    def send_junk(self, junk: bytes) -> None:
        if self.report:
            return  # all of these may be part of a report's line
        with pytest.raises(ConversationError):
            self.ping_pong.receive(junk)
        self.over = True

    @precondition(lambda self: not self.over)
    @rule()
    def close(self) -> None:
        whole = not self.report and self.due == b"%d" % self.value and self.value > 1
        if whole:
            self.ping_pong.eof()
        else:
            with pytest.raises(ConversationError):
                self.ping_pong.eof()
        self.over = True

    @precondition(lambda self: self.over)
    @rule()
    def go_on_after_the_end(self) -> None:
        for call in (self.ping_pong.eof, lambda: self.ping_pong.receive(self.due)):
            with pytest.raises(ConversationError):
                call()

    @invariant()
    def counts(self) -> None:
        assert self.ping_pong.exchanges == (self.value - 1) // 2


TestSession = Session.TestCase
