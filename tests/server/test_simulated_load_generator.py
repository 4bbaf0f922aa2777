"""The simulated PC's calls, as its LAN drives them: exact times, and any cut of the stream."""

import sys
from ipaddress import IPv4Address
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.certificates import DATE_S
from portbench.errors import UnknownName
from portbench.server import simulated_pc
from portbench.server.calls import CONNECT_LIMIT_US, IDLE_LIMIT_US, RETRY_US, Listening
from portbench.server.simulated_load_generator import NOTHING, RESET, Line, SimulatedLoadGenerator
from portbench.server.simulated_pc import CALL_DELAY_US, MAX_BYTES, Part, SimulatedPc, SimulatedServer, part_in
from portbench.server.tls.channel import Channel
from portbench.workloads import LoadGenerator, workload
from portbench.workloads.conversation import ClientReport, Requests
from tests.server.asking import ANSWER, QUESTION, Ask, UnaskedLan, asking
from tests.server.test_recording import Loud

BOARD = Listening(IPv4Address("10.0.0.2"), 80)
PEER = "10.0.0.2:80"
LINE = 'PORTBENCH-LISTENING {"address": "10.0.0.2", "port": 80}'
TURNAROUND_US = 200.0


class Lan(UnaskedLan):
    """Keeps what it is asked to do."""

    def __init__(self) -> None:
        self.lines: list[tuple[Line, float]] = []
        self.ports: list[int] = []
        self.server: SimulatedServer | None = None

    def connect(self, peer: str, app: Line, at_us: float) -> int:
        assert peer == PEER
        self.lines.append((app, at_us))
        return len(self.lines)

    def listen(self, port: int, app: SimulatedServer) -> None:
        self.ports.append(port)
        self.server = app


def calling(connections: int, *, at_once: int = 1, pause_us: int = 0) -> tuple[SimulatedLoadGenerator, list[Line]]:
    load, lan = SimulatedLoadGenerator(asking(connections, at_once=at_once, pause_us=pause_us), TURNAROUND_US), Lan()
    load.call(lan, BOARD, 1000.0)
    load.call(lan, BOARD, 5000.0)
    assert [at_us for _, at_us in lan.lines] == [1000.0] * at_once
    return load, [line for line, _ in lan.lines]


def test_one_line_opens_one_connection_after_the_other() -> None:
    load, (line,) = calling(2, pause_us=30)
    assert line.accept(1, PEER, 1020.0) == (QUESTION, False, False, None)
    assert line.receive(1, ANSWER, 2000.0) == (b"", True, False, 30.0)
    assert line.accept(2, PEER, 2250.0) == (QUESTION, False, False, None)
    assert line.receive(2, ANSWER, 3000.0) == (b"", True, False, None)
    assert line.closed(2, False, 3300.0) == NOTHING
    first, second = load.calls.sessions()
    assert (first.started_us, first.established_us, first.asked_us, first.ended_us) == (1000, 1020, 1220, 2200)
    assert (second.started_us, second.established_us, second.first_byte_us, second.ended_us) == (2230, 2250, 3000, 3200)
    assert load.calls.load.over and first.ok and second.ok


def test_two_lines_share_what_is_left() -> None:
    load, (one, two) = calling(3, at_once=2)
    for conn, line in enumerate((one, two)):
        line.accept(conn, PEER, 1020.0)
    assert two.receive(1, ANSWER, 1100.0)[3] == 0.0
    assert one.receive(0, ANSWER, 1200.0)[3] is None
    two.accept(2, PEER, 1400.0)
    two.receive(2, ANSWER, 1500.0)
    assert [session.ended_us for session in load.calls.sessions()] == [1400, 1300, 1700] and load.calls.load.over


def test_an_end_that_comes_with_the_last_byte_is_no_refusal_of_the_next() -> None:
    load, (line,) = calling(2)
    line.accept(1, PEER, 1020.0)
    assert line.receive(1, ANSWER, 2000.0) == (b"", True, False, 0.0)
    assert line.closed(1, False, 2000.0) == NOTHING
    line.accept(2, PEER, 2250.0)
    line.receive(2, ANSWER, 3000.0)
    assert [session.attempts for session in load.calls.sessions()] == [1, 1]


def test_a_refused_line_tries_again() -> None:
    load, (line,) = calling(1)
    assert line.closed(1, True, 1020.0) == (b"", False, False, RETRY_US)
    assert line.closed(2, True, 1000.0 + CONNECT_LIMIT_US) == NOTHING
    assert load.calls.fault == f"connection 1 of 1 to {PEER}: refused 2 times in 10 s"


@pytest.mark.parametrize(
    ("reset", "says"),
    [(True, "connection lost after 0 exchanges (reset)"), (False, "the board closed before answer 1")],
)
def test_a_board_that_ends_too_early(reset: bool, says: str) -> None:
    load, (line,) = calling(2)
    line.accept(1, PEER, 1020.0)
    line.receive(1, ANSWER[:2], 1030.0)
    assert line.closed(1, reset, 1040.0) == (b"", True, False, None)
    assert load.calls.fault == f"connection 1 of 2 to {PEER}: {says}" and load.calls.load.over


def test_one_that_was_given_up_or_killed_is_reset() -> None:
    load, (line,) = calling(1)
    load.calls.look(1000.0 + CONNECT_LIMIT_US)
    assert line.accept(1, PEER, 2e7) == RESET and line.closed(1, True, 2e7) == NOTHING
    load, (line,) = calling(2)
    line.accept(1, PEER, 1020.0)
    load.kill()
    assert line.receive(1, ANSWER, 1030.0) == RESET
    assert line.closed(1, True, 1040.0) == (b"", True, False, None) and len(load.calls.sessions()) == 1


def test_a_wrong_answer_ends_a_connection_that_may_be_encrypted() -> None:
    peer = Loud()
    load = SimulatedLoadGenerator(asking(2), TURNAROUND_US, lambda: Channel(peer, int, ("name", b"root")))
    line = load.first(BOARD, 1000.0)
    assert line.accept(1, PEER, 1020.0) == (QUESTION.upper(), False, False, None)
    assert line.receive(1, b"NONSENSE", 2000.0) == (b"<>", True, False, None)
    assert load.calls.fault == f"connection 1 of 2 to {PEER}: answer 1 is b'nonsense'"


@given(st.integers(1, 4), st.data())
def test_any_cut_of_the_stream_gives_the_same(connections: int, data: st.DataObject) -> None:
    load, (line,) = calling(connections)
    now_us = 1000.0
    for conn in range(connections):
        line.accept(conn, PEER, now_us)
        cut = data.draw(st.lists(st.integers(1, len(ANSWER) - 1), unique=True).map(sorted))
        pieces = [ANSWER[start:end] for start, end in zip([0, *cut], [*cut, len(ANSWER)], strict=True)]
        replies = [line.receive(conn, piece, now_us + index) for index, piece in enumerate(pieces)]
        assert replies[:-1] == [NOTHING] * len(cut)
        assert replies[-1] == (b"", True, False, None if conn == connections - 1 else 0.0)
        now_us += 1000.0
    assert all(session.ok and session.received_bytes == len(ANSWER) for session in load.calls.sessions())


def test_the_pc_calls_once_the_line_has_come() -> None:
    lan = Lan()
    pc = SimulatedPc(lan, 5000, TURNAROUND_US, Part(call=lambda: asking(1)))
    pc.heard("hello", 500.0)
    assert lan.lines == [] and lan.ports == [5000]
    pc.heard(LINE, 700.25)
    ((line, at_us),) = lan.lines
    assert at_us == 700.25 + CALL_DELAY_US
    line.accept(1, PEER, at_us + 20.0)
    assert pc.given_up(at_us + 25.0) is None
    line.receive(1, b"nonsense", at_us + 30.0)
    ends_us = at_us + 30.0 + TURNAROUND_US + 2e6
    assert pc.given_up(ends_us - 1) is None  # its client may still say why
    assert pc.given_up(ends_us) == f"connection 1 of 1 to {PEER}: answer 1 is b'nonsense'"
    assert [session.ok for session in pc.sessions()] == [False] and pc.answered == 0 and pc.reports == 0


def test_the_pauses_of_a_board_that_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.server.simulated_pc._channels", lambda *server: None)
    for tls, pause_us in ((None, 30.0), (("pc.test", b"root"), 30.0 + IDLE_LIMIT_US)):
        load = LoadGenerator(lambda: Ask(1), 1, pause_us=30, tls=tls)
        assert SimulatedPc(Lan(), None, 0.0, Part(call=lambda load=load: load)).pause_us == pause_us  # type: ignore[misc]


def test_the_simulated_pcs_tls_has_a_date_that_follows_simulated_time(monkeypatch: pytest.MonkeyPatch) -> None:
    peers, server = Mock(), ("pc.test", b"root")
    monkeypatch.setitem(sys.modules, "portbench.server.tls.seeded", peers)
    load = LoadGenerator(lambda: Ask(1), 1, tls=server)
    pc = SimulatedPc(Lan(), None, 0.0, Part(call=lambda: load, secured=True))
    accepted, called = pc._server.channel, pc._load and pc._load.calls._channel
    assert accepted is not None and called is not None and accepted() is not accepted()
    for channel, of in ((accepted(), None), (called(), server)):
        assert (channel._server, channel._peer) == (of, peers.SeededPeer.return_value)
        assert [channel._date_s(us) - DATE_S for us in (0.0, 999_999.0, 1e6, 61.5e6)] == [0, 0, 1, 61]


@pytest.mark.usefixtures("own_workloads")
def test_the_part_is_the_workloads_with_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_in("echo_server", {"connections": 7, "at_once": 2})
    assert part.call is not None and part.service is not None
    assert isinstance(part.service()(), ClientReport)
    assert (part.call().connections, part.call().at_once) == (7, 2)
    assert part_in("ping_pong", {}).call is None and not part_in("ping_pong", {}).secured
    https, asked = part_in("https", {}, 7), part_in("udp_service", {}, 7)
    assert (https.secured, https.patience_us, https.limit, https.call) == (True, 30e6, 7, None)
    assert isinstance(asked.call and asked.call(), Requests) and (asked.limit, asked.service) == (7, None)
    assert part_in("udp_service", {}).service is not None
    with pytest.raises(UnknownName):
        part_in("pong", {})
    made: Any = Mock()
    monkeypatch.setattr(simulated_pc, "service_of", made)
    for name, limit, calls in (("echo_server", None, "load_generator"), ("udp_service", 7, "foreign_calls")):
        monkeypatch.setattr(type(workload(name)), calls, made)
        part = part_in(name, {}, limit)
        for begun in filter(None, (part.service, part.call)):
            assert begun() is made.return_value and made.call_args.args[1:] == (MAX_BYTES,)


@pytest.mark.usefixtures("own_workloads")
def test_a_board_without_a_console_is_called_where_it_told_the_server() -> None:
    lan = Lan()
    pc = SimulatedPc(lan, 5000, TURNAROUND_US, part_in("echo_server", {"connections": 1}))
    assert lan.server is not None
    lan.server.accept(1, "10.0.0.2:49152", 50.0)
    lan.server.receive(1, LINE[:30].encode(), 90.0)
    pc.look(95.0)
    lan.server.receive(1, f"{LINE[30:]}\n".encode(), 100.0)
    for now_us in (101.0, 102.0):
        pc.look(now_us)
    assert [at_us for _, at_us in lan.lines] == [100.0 + CALL_DELAY_US] and pc.reports == 0
    assert lan.server.announcement is None
    lan.server.receive(1, b'{"echoed":1}\n', 9e6)
    told, called = pc.sessions()
    assert (told.listening, told.report, told.exchanges, called.listening) == (LINE, {"echoed": 1}, 0, None)
    assert pc.reports == 1
