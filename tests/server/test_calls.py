"""The records and limits of the PC's connections to a board, and the line that says where the board listens."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.server.calls import CONNECT_LIMIT_US, IDLE_LIMIT_US, RETRY_US, Calls, Listening, parse_listening
from portbench.server.recording import Recording
from portbench.workloads import LoadGenerator
from portbench.workloads.conversation import LISTENING_PREFIX
from tests.server.asking import ANSWER, QUESTION, Ask, asking

PEER = "10.0.0.2:80"
THERE = Listening(IPv4Address("192.168.50.100"), 80)
LINE = 'PORTBENCH-LISTENING {"address": "192.168.50.100", "port": 80}'


def begun(calls: Calls, at_us: float = 0.0) -> Recording:
    recording = calls.begin(PEER, at_us)
    assert recording is not None
    return recording


def test_every_stage_has_its_time() -> None:
    calls = Calls(asking(1, questions=2))
    recording = begun(calls, 100.0)
    assert recording.established(130.0, handover_us=5.0) == QUESTION
    assert recording.receive(ANSWER[:1], 150.0) == b""
    assert recording.receive(ANSWER[1:], 160.0) == QUESTION
    recording.receive(ANSWER, 190.0)
    assert recording.finished
    calls.ended(recording, 200.0)
    calls.ended(recording, 999.0)
    (session,) = calls.sessions()
    assert (session.started_us, session.established_us, session.asked_us) == (100, 130, 135)
    assert (session.first_byte_us, session.last_byte_us, session.ended_us) == (150, 190, 200)
    assert session.received_us == [160, 190] and session.attempts == 1 and session.ok and session.peer == PEER
    assert calls.load.over and calls.fault is None and calls.exchanges == 2


def test_a_refused_one_is_tried_until_its_time_is_up() -> None:
    calls = Calls(asking(2))
    recording = begun(calls)
    now_us, attempts = 0.0, 1
    while calls.refused(recording, now_us):
        now_us += RETRY_US
        attempts += 1
    assert attempts == CONNECT_LIMIT_US / RETRY_US + 1 == recording.attempts
    assert calls.fault == f"connection 1 of 2 to {PEER}: refused {attempts} times in 10 s"
    assert calls.begin(PEER, now_us) is None and calls.load.over


def test_nobody_tries_on_after_another_one_failed() -> None:
    calls = Calls(asking(3, at_once=2))
    bad, refused = begun(calls), begun(calls)
    bad.established(1.0)
    bad.receive(b"x", 2.0)
    calls.ended(bad, 2.0)
    assert not calls.refused(refused, 3.0)
    assert calls.fault == f"connection 1 of 3 to {PEER}: answer 1 is b'x'" and calls.fault_us == 2.0
    assert [session.error for session in calls.sessions()] == [
        "answer 1 is b'x'",
        "given up after another failure",
    ]


@pytest.mark.parametrize(
    ("established_us", "byte_us", "ends_us", "says"),
    [
        (None, None, CONNECT_LIMIT_US, "no answer to connecting within 10 s"),
        (7.0, None, IDLE_LIMIT_US + 7.0, "no byte for 30 s after 0 exchanges"),
        (7.0, 9.0, IDLE_LIMIT_US + 9.0, "no byte for 30 s after 1 exchanges"),
    ],
)
def test_a_silent_board_is_given_up(
    established_us: float | None, byte_us: float | None, ends_us: float, says: str
) -> None:
    calls = Calls(asking(1, questions=2))
    recording = begun(calls)
    if established_us is not None:
        recording.established(established_us)
    if byte_us is not None:
        recording.receive(ANSWER, byte_us)
    calls.look(ends_us - 1.0)
    assert calls.fault is None and calls.is_open(recording)
    calls.look(ends_us)
    assert calls.fault == f"connection 1 of 1 to {PEER}: {says}" and not calls.is_open(recording)


def test_a_failure_may_be_one_that_counts() -> None:
    calls = Calls(LoadGenerator(lambda: Ask(1), 3, counts_failures=True))
    bad = begun(calls)
    bad.established(1.0)
    bad.receive(b"x", 2.0)
    calls.ended(bad, 2.0)
    assert calls.fault is None
    never = begun(calls, 3.0)
    calls.look(3.0 + CONNECT_LIMIT_US)
    assert calls.fault == f"connection 2 of 3 to {PEER}: no answer to connecting within 10 s"
    assert never.error and calls.begin(PEER, 4.0) is None
    calls = Calls(LoadGenerator(lambda: Ask(1), 3, counts_failures=True), connect_limit_us=0.0)
    assert (
        not calls.refused(begun(calls), 0.0) and calls.fault == f"connection 1 of 3 to {PEER}: refused 1 times in 0 s"
    )


def test_a_board_that_hangs_ends_a_run_that_counts_failures() -> None:
    calls = Calls(LoadGenerator(lambda: Ask(1), 2, counts_failures=True))
    begun(calls).established(1.0)
    calls.look(1.0 + IDLE_LIMIT_US)
    assert calls.fault == f"connection 1 of 2 to {PEER}: no byte for 30 s after 0 exchanges" and calls.load.over


@pytest.mark.parametrize(
    "line", [LINE, f"\x1b]0;title\x1b\\{LINE}", f"{LINE}\r", f"{LINE} and more", LINE[:-1] + ', "more": 1}']
)
def test_the_line_may_have_text_around_it(line: str) -> None:
    assert parse_listening(line) == THERE and str(THERE) == "192.168.50.100:80"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "PORTBENCH {}",
        LINE[:-1],
        f"{LISTENING_PREFIX}80",
        f'{LISTENING_PREFIX}{{"port": 80}}',
        LINE.replace("80}", "0}"),
        LINE.replace("80}", "65536}"),
        LINE.replace("80}", '"80"}'),
        LINE.replace("192.168.50.100", "the board"),
        LISTENING_PREFIX + "[" * 100_000,
    ],
)
def test_other_lines_and_damaged_ones_say_nothing(line: str) -> None:
    assert parse_listening(line) is None


@given(st.text())
def test_no_line_is_too_strange(text: str) -> None:
    parse_listening(text)
    parse_listening(LISTENING_PREFIX + text)
