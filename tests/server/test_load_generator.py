"""The PC's calls over real sockets, to boards of the test's own."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from itertools import pairwise
from typing import Any
from unittest.mock import Mock, call

import pytest

from portbench.boards import Deadline
from portbench.errors import PortbenchError
from portbench.server.calls import Listening
from portbench.server.connection import Limits
from portbench.server.load_generator import SocketLoadGenerator
from tests.server.asking import ANSWER, QUESTION, asking

LOOPBACK = IPv4Address("127.0.0.1")
LIMIT_S = 20.0


@contextmanager
def board_that(does: Callable[[socket.socket], None], connections: int = 1) -> Iterator[Listening]:
    """Listens and, for each of so many connections, `does` that, all at once."""
    threads: list[threading.Thread] = []

    def handle(client: socket.socket) -> None:
        with client:
            client.settimeout(LIMIT_S)
            does(client)

    def accept(listener: socket.socket) -> None:
        for _ in range(connections):
            client, _ = listener.accept()
            threads.append(threading.Thread(target=handle, args=(client,)))
            threads[-1].start()

    with socket.create_server((str(LOOPBACK), 0)) as listener:
        listener.settimeout(LIMIT_S)
        accepting = threading.Thread(target=accept, args=(listener,))
        accepting.start()
        yield Listening(LOOPBACK, listener.getsockname()[1])
        for thread in (accepting, *threads):
            thread.join(LIMIT_S)
            assert not thread.is_alive()


def answers(client: socket.socket) -> None:
    while client.recv(len(QUESTION), socket.MSG_WAITALL):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in ANSWER:
            client.sendall(bytes([byte]))


def faults_of(board: Listening, load: SocketLoadGenerator) -> list[str]:
    faults: list[str] = []
    told = threading.Event()

    def on_fault(fault: str) -> None:
        faults.append(fault)
        told.set()

    load.on_fault = on_fault
    with load:
        load.call(board)
        assert told.wait(LIMIT_S)
        load.finish(LIMIT_S)
    return faults


@pytest.mark.parametrize("at_once", [1, 3])
def test_all_connections_are_made_and_timed(at_once: int) -> None:
    together = threading.Barrier(at_once)

    def answers_together(client: socket.socket) -> None:
        together.wait(LIMIT_S)
        answers(client)

    with board_that(answers_together, 6) as board, SocketLoadGenerator(asking(6, questions=3, at_once=at_once)) as load:
        load.call(board)
        load.call(board)
        sessions = load.finish(LIMIT_S)
    assert [session.number for session in sessions] == list(range(6))
    for session in sessions:
        assert session.ok and session.exchanges == 3 and session.received_bytes == 3 * len(ANSWER)
        times = [session.started_us, session.established_us, session.asked_us, session.first_byte_us]
        times += [*session.received_us, session.last_byte_us, session.ended_us]
        assert None not in times and times == sorted(times)  # type: ignore[type-var]
    if at_once == 1:
        assert all(one.ended_us <= two.started_us for one, two in pairwise(sessions))  # type: ignore[operator]


def test_a_board_that_refuses_and_then_does_not() -> None:
    with socket.create_server((str(LOOPBACK), 0)) as taken:
        port = taken.getsockname()[1]
    with SocketLoadGenerator(asking(1)) as load:
        assert load._limits == Limits(4 << 20, 30.0) and load._calls._connect_limit_us == 10e6
        load.call(Listening(LOOPBACK, port))
        tried = Deadline(LIMIT_S, "the load generator")
        tried.poll(lambda: any(each.attempts > 2 for each in load.finish(0.001)), 0.001, "three attempts")
        with socket.create_server((str(LOOPBACK), port)) as listener:
            listener.settimeout(LIMIT_S)
            client, _ = listener.accept()
            with client:
                client.sendall(ANSWER)
                (session,) = load.finish(LIMIT_S)
    assert session.ok and session.attempts >= 3


def reset(client: socket.socket) -> None:
    client.recv(100)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def short(client: socket.socket) -> None:
    client.recv(100)
    client.sendall(ANSWER[:2])


def wrong(client: socket.socket) -> None:
    client.sendall(b"nonsense")
    client.recv(100)


def silent(client: socket.socket) -> None:
    while client.recv(100):
        pass


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (reset, "connection lost after 0 exchanges (Connection reset by peer)"),
        (short, "the board closed before answer 1"),
        (wrong, "answer 1 is b'nonsense'"),
    ],
)
def test_a_bad_board_is_one_line(does: Callable[[socket.socket], None], says: str) -> None:
    with board_that(does) as board:
        assert faults_of(board, SocketLoadGenerator(asking(3))) == [f"connection 1 of 3 to {board}: {says}"]


def test_leaving_ends_what_is_open_without_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    faults: list[str] = []
    come = threading.Event()

    def comes(client: socket.socket) -> None:
        come.set()
        silent(client)

    with board_that(comes) as board:
        with SocketLoadGenerator(asking(1), on_fault=faults.append) as load:
            load.call(board)
            assert come.wait(LIMIT_S)
        (session,) = load.finish(LIMIT_S)
    assert session.error == "the load generator was stopped" and faults == [] and caplog.records == []


def test_a_caller_that_was_never_told_where_ends_at_once() -> None:
    with SocketLoadGenerator(asking(1)) as load:
        assert load.finish(0.01) == []


def test_only_the_first_call_counts_and_a_thread_that_does_not_end_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    thread: Any = Mock(return_value=Mock())
    monkeypatch.setattr(threading, "Thread", thread)
    load, event = SocketLoadGenerator(asking(1)), Mock(wait=Mock(return_value=True))
    monkeypatch.setattr(threading, "Event", lambda: event)
    for port in (7, 8):
        load.call(Listening(LOOPBACK, port))
    where = (Listening(LOOPBACK, 7), event)
    assert thread.mock_calls[:1] == [call(target=load._run, args=where, name="load on 127.0.0.1:7", daemon=True)]
    assert thread.call_count == 1
    load.__exit__(None, None, None)  # before its loop runs there is nothing to end
    load._loop, load._stop = Mock(), Mock()
    load.__exit__(KeyboardInterrupt, None, None)
    with pytest.raises(PortbenchError, match=r"^the PC's connections did not end within 5 s$"):
        load.__exit__(None, None, None)
    assert thread.return_value.join.mock_calls == [call(5.0)] * 2
    event.wait.return_value = False
    with pytest.raises(PortbenchError, match=r"^127\.0\.0\.1:9: connecting did not begin within 10 s; try again$"):
        SocketLoadGenerator(asking(1)).call(Listening(LOOPBACK, 9))
