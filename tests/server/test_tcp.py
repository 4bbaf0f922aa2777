"""The TCP server on real sockets: many clients, hostile clients, a clean end."""

import asyncio
import contextlib
import errno
import re
import socket
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock, call

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.server import tcp as tcp_module
from portbench.server.connection import Limits
from portbench.server.tcp import WorkloadServer, measure_round_trip
from portbench.workloads import Session, Turnaround, workload

PING_PONG = workload("ping_pong")

LIMIT_S = 60.0


def connect(server: WorkloadServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)


def play(client: socket.socket, messages: int, first: int = 1) -> None:
    for number in range(first, first + 2 * messages, 2):
        client.sendall(b"%d" % number)
        expected = b"%d" % (number + 1)
        answer = b""
        while len(answer) < len(expected):
            part = client.recv(16)
            assert part
            answer += part
        assert answer == expected


def read_to_end(client: socket.socket) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(4096):
            got += part
    return got


def only(server: WorkloadServer) -> Session:
    (record,) = server.wait_sessions(1, LIMIT_S)
    return record


def test_session_is_recorded_with_its_times() -> None:
    with WorkloadServer(PING_PONG, port=0) as server:
        server._started_ns -= 10**10  # it has run for 10 s
        with connect(server) as client:
            play(client, 100)
        record = only(server)
    assert record.ok and record.exchanges == 100 and record.pipelined == 0 and record.number == 0
    assert record.peer.startswith("127.0.0.1:") and record.received_bytes == len("".join(map(str, range(1, 200, 2))))
    assert len(record.received_us) == len(record.sent_us) == 100
    assert all(0 < value < 1e6 for value in record.turnaround_us)
    times = [time for pair in zip(record.received_us, record.sent_us, strict=True) for time in pair]
    assert times == sorted(times) and times[0] > 10e6
    summary = server.turnaround()
    assert summary is not None and summary.n == 100 and summary.median_us <= summary.p99_us <= summary.max_us
    assert " ok exchanges=100 " in record.line() and "\n" not in record.line()


def test_fifty_clients_at_once() -> None:
    barrier = threading.Barrier(50)

    def client(_: int) -> None:
        with connect(server) as mine:
            play(mine, 10)
            barrier.wait(LIMIT_S)  # all fifty are in the middle of their sessions here
            play(mine, 40, first=21)

    with WorkloadServer(PING_PONG, port=0) as server, ThreadPoolExecutor(50) as threads:
        list(threads.map(client, range(50)))
        records = server.wait_sessions(50, LIMIT_S)
    assert [record.exchanges for record in records] == [50] * 50 and all(record.ok for record in records)


def test_report_is_kept() -> None:
    with WorkloadServer(PING_PONG, port=0) as server:
        with connect(server) as client:
            play(client, 3)
            client.sendall(b'{"total_us":12,')
            client.sendall(b'"ready_us":3}\n')
        record = server.wait_report(LIMIT_S)
        assert record.ok and record.report == {"total_us": 12, "ready_us": 3}
        with pytest.raises(PortbenchError, match=r"waited 0\.01 s for a client's report; 1 sessions have ended"):
            server.wait_report(0.01, after=record.number)


def reset(client: socket.socket) -> None:
    play(client, 2)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def garbage(client: socket.socket) -> None:
    client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 30)
    read_to_end(client)


def flood_of_report(client: socket.socket) -> None:
    play(client, 1)
    with contextlib.suppress(ConnectionError):
        client.sendall(b"{" + b" " * 200_000)
    read_to_end(client)


@pytest.mark.parametrize(
    ("misbehave", "messages", "part"),
    [
        (reset, 2, "connection lost after 2 exchanges"),
        (garbage, 0, "message 1 must be 1, not b'\\x16"),
        (flood_of_report, 1, "bytes"),
    ],
)
def test_bad_client_is_recorded_and_the_server_stays_up(
    misbehave: Callable[[socket.socket], None], messages: int, part: str
) -> None:
    with WorkloadServer(PING_PONG, port=0, max_bytes=100_000) as server:
        with connect(server) as client:
            misbehave(client)
        record = only(server)
        assert not record.ok and record.exchanges == messages and record.error is not None and part in record.error
        assert f"error: {record.error}" in record.line()
        with connect(server) as client:
            play(client, 10)
        assert server.wait_sessions(2, LIMIT_S)[1].ok


@pytest.mark.slow
def test_client_that_never_reads_is_bounded() -> None:
    with WorkloadServer(PING_PONG, port=0, idle_timeout_s=1, max_bytes=64 << 20) as server, connect(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        number = 1
        with pytest.raises(ConnectionError):  # the server reads no more, and then hangs up
            while True:
                client.sendall(b"".join(b"%d" % value for value in range(number, number + 20_000, 2)))
                number += 20_000
        record = only(server)
    assert record.error is not None and record.error.startswith("no whole exchange for 1 s")
    assert record.pipelined > 0


def test_a_run_with_a_limit_is_ended_by_the_pc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.server.connection._LAST_S", 0.01)
    with WorkloadServer(PING_PONG, port=0) as server:
        server.limit = 2
        with connect(server) as client:
            play(client, 2)
            assert read_to_end(client) == b""
        assert only(server).ok and only(server).exchanges == 2
        server.limit = None
        assert server.active_clients == 0 and server.connected(-1) == []
        with connect(server) as client:
            play(client, 1)
            name = "{}:{}".format(*client.getsockname())
            assert (server.connected(-1), server.connected(0), server.connected(1)) == ([name], [name], [])


def test_stop_ends_clients_threads_and_port() -> None:
    before = set(threading.enumerate())
    server = WorkloadServer(PING_PONG, port=0)
    with server:
        client = connect(server)
        play(client, 1)
        (thread,) = set(threading.enumerate()) - before
        assert (thread.name, thread.daemon) == (f"ping_pong server {server.port}", True)
    with client:
        assert read_to_end(client) == b""
    assert set(threading.enumerate()) <= before
    assert [record.error for record in server.sessions()] == ["the server was stopped"]
    with pytest.raises(ConnectionRefusedError):
        connect(server)
    with WorkloadServer(PING_PONG, port=server.port):
        pass


@pytest.mark.parametrize(
    ("host", "port", "part"),
    [
        ("203.0.113.7", 0, "203.0.113.7:0: cannot listen: this machine does not have that address; "),
        ("127.0.0.1", 70_000, "127.0.0.1:70000: is not a TCP port; give one from 0 to 65535"),
        ("a..b", 0, "a..b:0: "),
    ],
)
def test_bad_address_gives_one_line(host: str, port: int, part: str) -> None:
    with pytest.raises(PortbenchError) as caught, WorkloadServer(PING_PONG, host, port):
        pass
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_own_turnaround_is_a_sessions_like_any_other() -> None:
    with WorkloadServer(PING_PONG, port=0) as server:
        own = server.measure_own_turnaround(300)
        record = only(server)
    assert own is not None and record.ok and record.exchanges == own.n == 300
    assert 0 < own.median_us <= own.p99_us <= own.max_us
    assert own.median_us > median(record.turnaround_us)  # which is a part of it


def test_an_answer_may_come_in_pieces_and_has_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    client = MagicMock()
    client.recv.side_effect = [b"a", b"b", b"c"] * 2 + [b""] * 2
    connects = Mock(return_value=contextlib.nullcontext(client))
    monkeypatch.setattr(socket, "create_connection", connects)
    with pytest.raises(ConnectionError, match=r"^h:7 answered b'abc' to b'2', not b'abd'$"):
        measure_round_trip("h", 7, [(b"1", b"abc"), (b"2", b"abd")])
    assert client.recv.mock_calls == [call(each) for each in (3, 2, 1)] * 2
    with pytest.raises(ConnectionError, match=r"^h:7 answered b'' to b'3', not b'x'$"):
        measure_round_trip("h", 7, [(b"3", b"x")])
    assert connects.mock_calls == [call(("h", 7), timeout=10.0)] * 2
    assert client.setsockopt.mock_calls == [call(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)] * 2
    monkeypatch.undo()
    with WorkloadServer(PING_PONG, "0.0.0.0", 0) as server:
        assert measure_round_trip("127.0.0.1", server.port, PING_PONG.ideal_client(3)).n == 3
        own = server.measure_own_turnaround(5)
    assert own is not None and own.n == 5
    with pytest.raises(ValueError, match="there are no exchanges"):
        measure_round_trip("127.0.0.1", SHARED.port, [])


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (
            OSError(errno.EACCES, "x"),
            "cannot listen: the port needs rights that you do not have; choose one above 1023",
        ),
        (OSError(errno.EIO, "it broke"), "cannot listen: it broke; choose another address"),
        (
            OSError(errno.EADDRINUSE, "x"),
            "cannot listen: the port is in use; stop the other server or choose another port",
        ),
        (
            OSError(errno.EADDRNOTAVAIL, "x"),
            "cannot listen: this machine does not have that address; choose one that it has, or 0.0.0.0",
        ),
        (UnicodeError("it is empty"), "is not a host name (it is empty); give an address of this machine"),
        (socket.gaierror(-2, "not known"), "no such host (not known); give an address of this machine"),
    ],
)
def test_why_an_address_cannot_be_listened_on(error: Exception, fix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "create_server", Mock(side_effect=error))
    with pytest.raises(PortbenchError, match=rf"^127\.0\.0\.1:80: {re.escape(fix)}$"):
        WorkloadServer(PING_PONG, port=80).__enter__()


@pytest.mark.parametrize(
    ("host", "family", "address"),
    [("127.0.0.1", socket.AF_INET, ("127.0.0.1", 7)), ("::1", socket.AF_INET6, ("::1", 7, 0, 0))],
)
def test_a_server_listens_in_the_family_of_its_host(
    host: str, family: socket.AddressFamily, address: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, found = Mock(), Mock(wraps=socket.getaddrinfo)
    monkeypatch.setattr(socket, "create_server", made)
    monkeypatch.setattr(socket, "getaddrinfo", found)
    assert tcp_module._listen(host, 7) is made.return_value
    assert made.mock_calls == [call(address, family=family, backlog=128)]
    assert found.mock_calls == [call(host, 7, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)]


def test_a_udp_port_is_closed_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    udp = Mock()
    monkeypatch.setattr(tcp_module, "_serve_datagrams", AsyncMock(return_value=udp))
    with WorkloadServer(PING_PONG, port=0):
        assert udp.mock_calls == []
    assert udp.mock_calls == [call.close()]


@pytest.mark.parametrize(("name", "serves"), [("udp", True), ("ping_pong", False), ("interpreter", False)])
def test_a_workload_with_datagrams_has_a_udp_port_of_the_same_number(name: str, serves: bool) -> None:
    async def port(listener: socket.socket) -> object:
        transport = await tcp_module._serve_datagrams(workload(name), listener, lambda address: None)
        if transport is not None:
            transport.close()
        return transport and transport.get_extra_info("sockname")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert asyncio.run(port(listener)) == (listener.getsockname() if serves else None)


def test_the_books_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = list[Session]()
    served = Mock(wraps=tcp_module.service_of)
    monkeypatch.setattr(tcp_module, "service_of", served)
    server = WorkloadServer(PING_PONG, max_clients=2, max_bytes=7, idle_timeout_s=9, on_session=ended.append)
    assert served.mock_calls == [call(PING_PONG, 7)]
    server.limit = 5
    two, one = server._connection(), server._connection()
    one._progress_s, two._progress_s = 5.0, 9.0
    three = server._connection()
    assert [one._limits, one.recording._limit, one.closing, two.closing] == [Limits(7, 9), 5, True, False]
    assert one.recording.error == "turned away: silent, and another client came"
    for each in (two, three):
        each.recording.conversation.exchanges = 1
    refused = server._connection()
    assert (two._refusal, three._refusal) == (None, None)
    assert refused._refusal == "turned away: 2 clients are connected already"
    server._stopping = True
    assert server._connection()._refusal == "the server was stopped" and server.accepted == server.active_clients == 5
    for each, peer in zip((one, two, three), ("a:1", "b:2", "a:3"), strict=True):
        each.recording.peer = peer
    assert [server._newest_of(address) for address in "abc"] == [2, 0, None]
    two.recording.conversation.listening, three.recording.conversation.listening = "two", "three"
    assert [server.announced(after) for after in (-1, 0, 1, 2)] == ["two", "three", "three", None]
    server._changed = MagicMock()
    for each in (three, *[one] * 1000):
        server._ended(each)
    assert server._changed.notify_all.call_count == 1001  # who waits for a session hears of it at once
    defaults = WorkloadServer(PING_PONG)
    assert (defaults._max_clients, defaults._limits) == (64, Limits(4 << 20, 30.0))
    for name, usual in (("ping_pong", None), ("tls", tcp_module.peer())):
        assert WorkloadServer(workload(name))._tls_peer is usual
        assert WorkloadServer(workload(name), tls_peer=(given := Mock()))._tls_peer is given
    assert {session.number for session in server.sessions()} == {1} and len(server.sessions()) == 1000
    assert [session.number for session in ended] == [2] + [1] * 1000 and server._newest_of("a") is None


def test_a_servers_own_client_and_its_limits_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    server, trip = WorkloadServer(PING_PONG, port=7), Mock()
    monkeypatch.setattr(tcp_module, "measure_round_trip", trip)
    for server.host in ("0.0.0.0", "::", "10.0.0.1"):
        server.measure_own_turnaround(2)
    exchanges = list(PING_PONG.ideal_client(2))
    assert trip.mock_calls == [call(host, 7, exchanges) for host in ("127.0.0.1", "::1", "10.0.0.1")]
    server._sessions.extend(Mock(turnaround_us=[each]) for each in (5.0, 7.0))
    assert server.turnaround() == Turnaround.of([5.0, 7.0])
    thread: Any = Mock()
    ended = Mock(call_soon_threadsafe=Mock(side_effect=RuntimeError("Event loop is closed")))
    server._loop, server._stop, server._thread = ended, Mock(), thread
    server.__exit__(KeyboardInterrupt, None, None)
    with pytest.raises(PortbenchError, match=r"^10\.0\.0\.1:7: the server did not stop within 5 s$"):
        server.__exit__(None, None, None)
    assert thread.join.mock_calls == [call(5.0)] * 2
    monkeypatch.setattr(WorkloadServer, "_run", lambda self, listener, started: (listener.close(), started.set()))
    with pytest.raises(PortbenchError, match=r"the server did not start within 10 s; try again$"):
        WorkloadServer(PING_PONG).__enter__()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(min_size=1, max_size=64), max_size=6))
def test_any_bytes_leave_the_server_up(chunks: list[bytes]) -> None:
    server = SHARED
    before = server.accepted
    with connect(server) as client, contextlib.suppress(OSError):  # it may hang up at any byte
        for chunk in chunks:
            client.sendall(chunk)
        client.shutdown(socket.SHUT_WR)
        read_to_end(client)
    with connect(server) as client:
        play(client, 3)
    records = server.wait_sessions(before + 2, LIMIT_S)
    assert records[-1].ok and records[-1].exchanges == 3


SHARED: WorkloadServer


@pytest.fixture(autouse=True, scope="module")
def shared_server():  # type: ignore[no-untyped-def]
    global SHARED
    with WorkloadServer(PING_PONG, port=0) as SHARED:
        yield
