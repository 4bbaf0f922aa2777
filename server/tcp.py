"""A workload's server on TCP and UDP, for synchronous code: an event loop in a separate thread."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from portbench.errors import PortbenchError
from portbench.server.connection import Connection, Limits
from portbench.server.recording import Recording
from portbench.server.tls.channel import Channel
from portbench.server.tls.openssl import peer
from portbench.server.tls.peer import TlsPeer
from portbench.workloads import Datagrams, Served, Session, Turnaround, Workload
from portbench.workloads.served import service_of

_START_LIMIT_S: Final = 10.0
_STOP_LIMIT_S: Final = 5.0
_ANSWER_LIMIT_S: Final = 10.0
_KEPT_SESSIONS: Final = 1000
_ACCEPT_TURNS: Final = 3
"""Turns of the event loop in which a connection gets from the kernel to its protocol, after its first datagrams."""

_Found = TypeVar("_Found")


class WorkloadServer:
    """Serves a workload to many clients at once while the `with` block runs.

    `host` is the address to listen on; `port` 0 takes a free port. At most `max_clients` are served at a time. When
    full, the server drops the longest silent client; if no client is silent, it refuses the new one. The server also
    drops a client after `max_bytes`, or after `idle_timeout_s` without a whole exchange. `on_session` is called in the
    server's thread with each finished session. `tls_peer`: decrypts the connections that begin with a TLS handshake; by
    default it is OpenSSL, if the workload is `secured`.
    """

    def __init__(
        self,
        workload: Workload,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        max_clients: int = 64,
        max_bytes: int = 4 << 20,
        idle_timeout_s: float = 30.0,
        on_session: Callable[[Session], None] | None = None,
        tls_peer: TlsPeer | None = None,
    ) -> None:
        self.workload = workload
        self._conversation = service_of(workload, max_bytes)
        self.host = host
        self.port = port
        self.limit: int | None = None
        """The number of exchanges of each new connection, if only the PC can end the run."""
        self._max_clients = max_clients
        self._limits = Limits(max_bytes, idle_timeout_s)
        self._on_session = on_session
        self._tls_peer = tls_peer or (peer() if isinstance(workload, Served) and workload.secured else None)
        self._changed = threading.Condition()
        self._sessions: deque[Session] = deque(maxlen=_KEPT_SESSIONS)
        self._started_ns = time.perf_counter_ns()
        self._active: dict[int, Connection] = {}
        self.accepted = 0
        """Number of connections so far; the next one gets this number."""
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> WorkloadServer:
        listener = _listen(self.host, self.port)
        self._stopping = False
        self.host, self.port = listener.getsockname()[:2]
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(listener, started), name=f"{self.workload.name} server {self.port}", daemon=True
        )
        self._thread.start()
        if not started.wait(_START_LIMIT_S) or self._stop is None:
            raise PortbenchError(
                f"{self.host}:{self.port}: the server did not start within {_START_LIMIT_S:g} s; try again"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is None or self._stop is None or self._thread is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_STOP_LIMIT_S)
        if self._thread.is_alive() and kind is None:
            raise PortbenchError(f"{self.host}:{self.port}: the server did not stop within {_STOP_LIMIT_S:g} s")

    def sessions(self) -> list[Session]:
        """The last 1000 finished sessions, oldest first."""
        with self._changed:
            return list(self._sessions)

    def announced(self, after: int) -> str | None:
        """The announcement of a connected client whose number is above `after`."""
        active = list(self._active.items())
        told = (each.recording.conversation.listening for number, each in active if number > after)
        return next((line for line in told if line is not None), None)

    def wait_sessions(self, count: int, timeout_s: float) -> list[Session]:
        """`sessions()` after `count` clients have gone. Raises PortbenchError after `timeout_s`."""

        def find() -> list[Session] | None:
            return list(self._sessions) if len(self._sessions) >= count else None

        return self._wait(find, f"{count} clients to come and go", timeout_s)

    def wait_report(self, timeout_s: float, *, after: int = -1) -> Session:
        """The first finished session with a report, above number `after`. Raises PortbenchError after `timeout_s`."""

        def find() -> Session | None:
            return next((each for each in self._sessions if each.number > after and each.report is not None), None)

        return self._wait(find, "a client's report", timeout_s)

    def connected(self, after: int) -> list[str]:
        """The addresses of the connected clients whose number is above `after`."""
        return [each.recording.peer for number, each in list(self._active.items()) if number > after]

    @property
    def active_clients(self) -> int:
        """Number of connected clients."""
        return len(self._active)

    def turnaround(self) -> Turnaround | None:
        """Summary of all exchanges of all finished sessions; None before the first."""
        return Turnaround.of([value for session in self.sessions() for value in session.turnaround_us])

    def measure_own_turnaround(self, exchanges: int = 1000) -> Turnaround | None:
        """Round trips of a client in this process over the loopback, in microseconds; None without an ideal client.

        They are the upper bound of this PC's share in an exchange: both TCP stacks, both threads and the conversation.
        The session is recorded like any other.
        """
        host = "127.0.0.1" if self.host == "0.0.0.0" else "::1" if self.host == "::" else self.host
        ideal = list(self.workload.ideal_client(exchanges)) if isinstance(self.workload, Served) else []
        return measure_round_trip(host, self.port, ideal) if ideal else None

    def _wait(self, find: Callable[[], _Found | None], what: str, timeout_s: float) -> _Found:
        found: list[_Found] = []

        def look() -> bool:
            result = find()
            if result is not None:
                found.append(result)
            return result is not None

        with self._changed:
            if not self._changed.wait_for(look, timeout_s):
                raise PortbenchError(
                    f"{self.host}:{self.port}: waited {timeout_s:g} s for {what}; {len(self._sessions)} sessions"
                    f" have ended, {len(self._active)} clients are connected"
                )
        return found[0]

    def _run(self, listener: socket.socket, started: threading.Event) -> None:
        with listener:
            try:
                asyncio.run(self._serve(listener, started))
            finally:
                started.set()

    async def _serve(self, listener: socket.socket, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self._loop.create_server(self._connection, sock=listener, backlog=128)
        udp = await _serve_datagrams(self.workload, listener, self._newest_of)
        started.set()
        await self._stop.wait()
        server.close()
        if udp is not None:
            udp.close()
        self._stopping = True
        for connection in list(self._active.values()):
            connection.abort("the server was stopped")
        deadline = self._loop.time() + _STOP_LIMIT_S
        while self._active and self._loop.time() < deadline:  # `abort` ends each within a few turns of the loop
            await asyncio.sleep(0)

    def _connection(self) -> Connection:
        number = self.accepted
        self.accepted += 1
        refusal = None
        if self._stopping:  # accepted in the loop's last turns
            refusal = "the server was stopped"
        elif not self._has_room():
            refusal = f"turned away: {self._max_clients} clients are connected already"
        channel = None if self._tls_peer is None else Channel(self._tls_peer, lambda _: int(time.time()))
        recording = Recording(number, "unknown", self._clock_us(), self._conversation(), self.limit, channel)
        connection = Connection(recording, self._limits, refusal, self._clock_us, self._ended)
        self._active[number] = connection
        return connection

    def _has_room(self) -> bool:
        """When full, drop the longest idle client."""
        served = [connection for connection in self._active.values() if not connection.closing]
        if len(served) < self._max_clients:
            return True
        silent = [connection for connection in served if connection.silent_since_s is not None]
        if not silent:
            return False
        first = min(silent, key=lambda connection: connection.silent_since_s or 0.0)
        first.abort("turned away: silent, and another client came")
        return True

    def _newest_of(self, address: str) -> int | None:
        """The number of the newest open connection of an address."""
        return max((number for number, each in self._active.items() if each.address == address), default=None)

    def _clock_us(self) -> float:
        return (time.perf_counter_ns() - self._started_ns) / 1000

    def _ended(self, connection: Connection) -> None:
        session = connection.recording.session()
        with self._changed:
            self._active.pop(session.number, None)
            self._sessions.append(session)
            self._changed.notify_all()
        if self._on_session is not None:
            self._on_session(session)


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket at the first address of `host`. Raises PortbenchError."""
    where = f"{host}:{port}"
    if not 0 <= port <= 65535:
        raise PortbenchError(f"{where}: is not a TCP port; give one from 0 to 65535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address, family=family, backlog=128)
    except socket.gaierror as error:
        raise PortbenchError(f"{where}: no such host ({error.strerror}); give an address of this machine") from error
    except UnicodeError as error:
        raise PortbenchError(f"{where}: is not a host name ({error}); give an address of this machine") from error
    except OSError as error:
        fixes = {
            errno.EADDRINUSE: "the port is in use; stop the other server or choose another port",
            errno.EACCES: "the port needs rights that you do not have; choose one above 1023",
            errno.EADDRNOTAVAIL: "this machine does not have that address; choose one that it has, or 0.0.0.0",
        }
        fix = fixes.get(error.errno or 0, f"{error.strerror}; choose another address")
        raise PortbenchError(f"{where}: cannot listen: {fix}") from error


async def _serve_datagrams(
    workload: Workload, listener: socket.socket, newest_of: Callable[[str], int | None]
) -> asyncio.DatagramTransport | None:
    """Open the UDP port with the number of `listener`; None if the workload uses no UDP. Raises OSError."""
    if not isinstance(workload, Served) or workload.datagrams() is None:
        return None
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _UdpPort(workload.datagrams, newest_of), local_addr=listener.getsockname()[:2], family=listener.family
    )
    return transport


class _UdpPort(asyncio.DatagramProtocol):
    """Answers only addresses with an open connection, because a datagram's source may be forged. An address has one
    transfer at a time: the last that it asked for.

    `newest_of`: the number of an address's newest open connection. Each connection is a run, whose datagrams are
    counted anew by what `made` gives.
    """

    def __init__(self, made: Callable[[], Datagrams | None], newest_of: Callable[[str], int | None]) -> None:
        self._made = made
        self._newest_of = newest_of
        self._runs: dict[str, tuple[int, Datagrams | None]] = {}
        """The run of each address, by the number of its connection."""
        self._transport: asyncio.DatagramTransport | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """Timers of the transfers, by address."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...], turns: int = _ACCEPT_TURNS) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(self.datagram_received, data, addr, turns - 1)
            return
        run = self._newest_of(addr[0])
        if run is None:
            return
        if addr[0] not in self._runs or self._runs[addr[0]][0] != run:
            self._runs[addr[0]] = (run, self._made())
        datagrams = self._runs[addr[0]][1]
        if datagrams is not None and (answers := datagrams.receive(f"{addr[0]}:{addr[1]}", data)):
            if addr[0] in self._timers:
                self._timers[addr[0]].cancel()
            self._send(deque(answers), addr, loop.time())

    def _send(self, answers: deque[tuple[float, bytes]], addr: tuple[Any, ...], asked_s: float) -> None:
        """Send the answers that are due, and set the timer for the next."""
        self._timers.pop(addr[0], None)
        if self._transport is None or self._transport.is_closing() or self._newest_of(addr[0]) is None:
            return
        loop = asyncio.get_running_loop()
        while answers and asked_s + answers[0][0] / 1e6 <= loop.time():
            self._transport.sendto(answers.popleft()[1], addr)
        if answers:
            self._timers[addr[0]] = loop.call_at(asked_s + answers[0][0] / 1e6, self._send, answers, addr, asked_s)


def measure_round_trip(host: str, port: int, exchanges: Iterable[tuple[bytes, bytes]]) -> Turnaround:
    """Round trips of `exchanges` (sent bytes, expected answer) with the server at `host`:`port`. Raises OSError."""
    values_us: list[float] = []
    with socket.create_connection((host, port), timeout=_ANSWER_LIMIT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for sent, expected in exchanges:
            before_ns = time.perf_counter_ns()
            client.sendall(sent)
            answer = client.recv(len(expected))
            values_us.append((time.perf_counter_ns() - before_ns) / 1000)
            while len(answer) < len(expected) and (more := client.recv(len(expected) - len(answer))):
                answer += more
            if answer != expected:
                raise ConnectionError(f"{host}:{port} answered {answer!r} to {sent!r}, not {expected!r}")
    summary = Turnaround.of(values_us)
    if summary is None:
        raise ValueError("there are no exchanges; give at least 1")
    return summary
