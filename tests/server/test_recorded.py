"""Random walks through the PC's parts: any change of an answer, a time or a call shows."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import asdict
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from portbench import server
from portbench.errors import PortbenchError
from portbench.server import connection as connection_module
from portbench.server import icmp, load_generator, tcp
from portbench.server.calls import Listening
from portbench.server.simulated_pc import Part, SimulatedPc
from portbench.server.tls import openssl
from portbench.server.tls.channel import Channel
from portbench.server.tls.identities import identities
from portbench.workloads import LoadGenerator, NetworkFault, Ping, Session, workload
from portbench.workloads.conversation import LISTENING_PREFIX, Requests
from tests.declared import assert_as_read
from tests.server.asking import ANSWER, Ask
from tests.server.test_connection import Bench, Obeying
from tests.server.test_connection import made as made
from tests.server.test_recording import Loud
from tests.walk import Walk

STATIC = IPv4Address("10.0.0.2")
LINE = LISTENING_PREFIX + '{"address": "10.0.0.9", "port": 80}'
WORDS = (
    b"x,x,part,quiet,wrong,report,listening,ping,silence 4,later 0.02,close,bye,fault reset,fault restart,fault cable"
)


class Faulty(Obeying):
    """Asks for network faults as well. On the PC's own connections it cannot speak by itself."""

    def receive(self, data: bytes) -> bytes:
        if data.startswith(b"fault "):
            kind: Any = data.split()[1].decode()
            self.network_fault = NetworkFault(kind, 0.0 if kind == "reset" else 1e6)
        return super().receive(b"x" if self.line is None and data[:5] in (b"later", b"close") else data)


class Lan:
    """The LAN with a board that does anything, at any time, that a LAN lets it do."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.now_us = 0.0
        self.apps: dict[int, Any] = {}
        """The programs on the open connections."""
        self.calling: dict[int, Any] = {}
        self.listening: Any = None
        self.udp: list[Any] = []
        self.numbers = 0
        self.pings: dict[int, float] = {}
        self.leased_us: float | None = None
        self.board_address: str | None = None
        self.link_up = True
        self.frames = 0

    def __getattr__(self, name: str) -> Callable[..., bool]:
        """Note whatever else the PC asks for."""

        def noted(*words: object) -> bool:
            self.walk.note(self.now_us, name, *(each for each in words if isinstance(each, str | bytes | int | float)))
            return True

        return noted

    def stats(self) -> dict[str, int]:
        return {"frames_from_board": self.frames}

    def listen(self, port: int, app: Any) -> None:
        self.walk.note(self.now_us, "listen", port)
        self.listening = app

    def udp_listen(self, port: int, app: Any) -> None:
        self.walk.note(self.now_us, "udp_listen", port)
        self.udp.append(app)

    def connect(self, peer: str, app: Any, at_us: float) -> int:
        self.numbers += 1
        self.walk.note(self.now_us, "connect", peer, at_us)
        self.calling[self.numbers] = app
        return self.numbers

    def send(self, address: str, size: int, at_us: float) -> int:
        self.pings[len(self.pings)] = float(size)
        self.walk.note(self.now_us, "ping", address, size, at_us)
        return len(self.pings) - 1

    def take(self, numbers: list[int]) -> dict[int, float]:
        return {number: self.pings[number] for number in numbers if self.walk.pick((True, False))}

    def step(self) -> None:
        """One event of the board's."""
        pick = self.walk.pick
        what = pick(("open", "open", "say", "say", "say", "say", "close", "reset", "udp", "address"))
        if what == "open" and (self.calling or self.listening):
            if conn := pick((0, *self.calling)):
                self.apps[conn] = self.calling.pop(conn)
            elif self.listening:
                self.numbers += 1
                conn = self.numbers
                self.apps[conn] = self.listening
            if conn:
                self.reply(conn, self.apps[conn].accept(conn, f"10.0.0.9:{conn}", self.now_us))
        elif what == "udp" and self.udp:
            self.frames += 1
            peer = pick(("10.0.0.9:5000", "10.0.0.2:5000"))
            self.walk.note("udp", pick(self.udp).receive(peer, pick((b"a", b"bc")), self.now_us))
        elif what == "address" and pick((True, False, False)):
            self.board_address, self.leased_us = pick((None, "10.0.0.9", "10.0.0.8")), pick((None, self.now_us))
            self.link_up = pick((True, True, False))
        elif what in ("close", "reset") and self.calling and pick((True, False)):
            conn = pick(tuple(self.calling))  # it is refused
            self.reply(conn, self.calling.pop(conn).closed(conn, True, self.now_us))
        elif conn := pick((0, *self.apps)):
            if what == "say":
                word = pick((b"", b"", b"", b"\x16")) + pick(WORDS.split(b","))
                self.reply(conn, self.apps[conn].receive(conn, word, self.now_us))
            elif what in ("close", "reset"):
                self.reply(conn, self.apps.pop(conn).closed(conn, what == "reset", self.now_us))

    def reply(self, conn: int, reply: tuple[bytes, bool, bool, float | None]) -> None:
        self.walk.note(self.now_us, conn, *reply)
        if reply[2]:
            self.apps.pop(conn, None)


def part(walk: Walk) -> Part:
    pick = walk.pick

    def load() -> LoadGenerator:
        fails, port = pick((True, False)), pick((None, 80))
        return LoadGenerator(Faulty, pick((1, 3)), at_once=pick((1, 2)), pause_us=30, counts_failures=fails, port=port)

    def datagrams() -> Any:
        return pick((None, SimpleNamespace(receive=lambda peer, data: [(5.0, peer.encode() + data)])))

    calls = pick((None, load, load, lambda: Requests(5000, b"q", 3)))
    limit, patience_us = pick((None, 2)), pick((None, 5e6))
    return Part(pick((None, lambda: Faulty, lambda: Faulty)), calls, datagrams, patience_us, limit, pick((True, False)))


def test_the_simulated_pc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server, its connections to the board, its search for the board, its pings and its network faults."""
    channels: Any = lambda *server: lambda: Channel(loud(), lambda now_us: int(now_us / 1e6), *server)  # noqa: E731
    monkeypatch.setattr("portbench.server.simulated_pc._channels", channels)
    walk = Walk(1)

    def loud() -> Loud:
        peer = Loud()
        peer.server_name = walk.pick((None, "pc.test"))  # type: ignore[assignment]
        return peer

    for _ in range(200):
        lan: Any = Lan(walk)
        pc = SimulatedPc(lan, walk.pick((None, 4711, 4711)), 200.0, part(walk), walk.pick((None, lan, lan)))
        if walk.pick((True, False)):
            pc.poll(lan, STATIC, 0.0)
        taken = list[tuple[list[Session], list[dict[str, Any]]]]()
        for step in range(60):
            lan.now_us += walk.pick((0.0, 1.0, 200.0, 9_999.0, 10_000.0, 90_000.0, 1e6, 1e6, 4e6))
            lan.step()
            match walk.pick(range(100)):
                case 0:
                    pc.kill()
                case 1:
                    pc.take(part(walk))
                case 2 | 3 | 4 if pc.polling is None:
                    pc.heard(walk.pick((LINE, "hello")), lan.now_us)
                case drawn if drawn < 70:
                    pc.look(lan.now_us)
                    walk.note(pc.given_up(lan.now_us))
            if step % 20 == 0:
                taken.append((told := pc.sessions(), [*map(asdict, told)]))
            walk.note(pc.answered, pc.whole, pc.reports, pc.pause_us)
            if (polling := pc.polling) is not None:
                walk.note(polling.taken, polling.has_address, polling.refusals, str(polling.board))
        walk.note(*map(asdict, pc.sessions()))
        assert all([*map(asdict, sessions)] == told for sessions, told in taken), "a record stays as it was taken"
    assert walk.checksum == "9b47f4c982729528"


def test_a_real_connection(made: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(1)

    async def ping(*words: object) -> list[Ping]:
        walk.note(*words)
        if walk.pick((True, False)):
            raise PortbenchError("not allowed")
        return [Ping(64, 5.0)]

    monkeypatch.setattr(connection_module, "ping", ping)
    monkeypatch.setattr("tests.server.test_connection.Obeying", Faulty)
    for _ in range(200):
        refusal = walk.pick((None,) * 9 + ("turned away",))
        bench = made(limit=walk.pick((None, 2, 5)), refusal=refusal, max_bytes=walk.pick((30, 100)))
        sessions = list[tuple[Session, dict[str, Any]]]()
        for _ in range(walk.pick((2, 5, 20))):
            now_s = bench.now_s + walk.pick((0, 0.01, 0.5, 1, 5, 29, 31))
            match walk.pick(range(30)):
                case 0:
                    walk.note(bench.connection.eof_received())
                case 1:
                    bench.connection.pause_writing()
                case 2:
                    bench.connection.resume_writing()
                case 3:
                    bench.connection.abort("stopped")
                case 4 | 5:
                    walk.note(bench.until(now_s))
                case _:
                    walk.note(bench.say(walk.pick(WORDS.split(b",")), now_s))
            sessions.append((told := bench.recording.session(), asdict(told)))
            walk.note(bench.connection.silent_since_s, bench.connection.closing, bench.connection.address)
        bench.connection.connection_lost(walk.pick((None, OSError(1, "gone"))))
        walk.note([handle.cancel.called for *_, handle in bench.timers], len(bench.ended), bench.conversation.was_lost)
        walk.note(bench.until(bench.now_s + 500), asdict(bench.recording.session()))
        assert all(asdict(session) == told for session, told in sessions), "a record stays as it was taken"
    assert walk.checksum == "c1d03a033eccc227"


def test_whom_a_server_has_room_for_and_what_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that come, speak, fall silent and go, and datagrams; without sockets."""
    walk = Walk(2)
    pick = walk.pick
    kinds = (None, SimpleNamespace(receive=lambda by, data: [(5.0, by.encode()), (7e6, data)]))
    for _ in range(200):
        told = list[Session]()
        server = tcp.WorkloadServer(workload("ping_pong"), max_clients=pick((1, 2, 4)), on_session=told.append)
        now = SimpleNamespace(us=0.0)
        monkeypatch.setattr(server, "_clock_us", lambda now=now: now.us)
        timers = list[tuple[float, Callable[..., None], tuple[Any, ...]]]()

        def at(when_s: float, call: Callable[..., None], *words: Any, timers: Any = timers) -> Any:
            timers.append((when_s, call, words))
            return SimpleNamespace(cancel=lambda: walk.note("cancelled", when_s))

        loop = SimpleNamespace(
            time=lambda now=now: now.us / 1e6,
            call_at=at,
            call_later=lambda after_s, *words, now=now, at=at: at(now.us / 1e6 + after_s, *words),
            call_soon=lambda call, *words: call(*words),
        )
        monkeypatch.setattr(connection_module, "time", SimpleNamespace(monotonic=loop.time))
        monkeypatch.setattr("asyncio.get_running_loop", lambda loop=loop: loop)
        port = tcp._UdpPort(lambda: pick(kinds), server._newest_of)
        sends: Any = Mock(
            sendto=lambda *words: walk.note("sent", *words), is_closing=lambda: pick((True, *(False,) * 9))
        )
        port.connection_made(sends)
        for _ in range(30):
            now.us += pick((1.0, 1e5, 4e6, 9e6))
            server.limit, server._stopping = pick((None, 2)), pick((False,) * 30 + (True,))
            what, alive = (
                pick(("new", "new", "say", "say", "say", "gone", "udp", "udp", "due")),
                [*server._active.values()],
            )
            if what == "new":
                transport = Mock(write=lambda data: walk.note(data), abort=lambda: walk.note("abort"))
                peer = (pick(("10.0.0.9", "10.0.0.8")), server.accepted)
                transport.get_extra_info = lambda name, peer=peer: peer if name == "peername" else Mock()
                server._connection().connection_made(transport)
            elif what == "say" and alive:
                pick(alive).data_received(pick((b"1", b"12", b"-1", b"x")))
            elif what == "gone" and alive:
                pick(alive).connection_lost(pick((None, OSError(1, "gone"))))
            elif what == "udp":
                port.datagram_received(pick((b"a", b"b")), (pick(("10.0.0.9", "10.0.0.8", "10.0.0.7")), 5000))
            elif timers:
                when_s, call, words = timers.pop(0)
                now.us = max(now.us, when_s * 1e6)
                call(*words)
            found = [server.announced(1), server.connected(1), server.active_clients, server.turnaround()]
            walk.note(what, found, [each.closing for each in server._active.values()], server._newest_of("10.0.0.9"))
        walk.note(*map(asdict, told), told == server.sessions())
        try:
            walk.note(len(server.wait_sessions(pick((0, 3)), 0)))
        except PortbenchError as error:
            walk.note(str(error))
    assert walk.checksum == "fac5b1febed5190c"


def test_the_pcs_calls_to_a_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that are refused, cut, wrong or good, some at once, until all are over or it is stopped; without
    sockets, and without its thread."""
    walk = Walk(4)
    pick, sleep, timeout = walk.pick, asyncio.sleep, asyncio.timeout
    now = SimpleNamespace(us=0.0)

    async def sleeps(seconds: float) -> None:
        walk.note("waits", seconds)
        now.us += seconds * 1e6
        await sleep(0)

    def limited(seconds: float) -> asyncio.Timeout:
        walk.note("within", seconds)
        return timeout(30)

    async def connects(loop: Any, made: Callable[[], Any], host: str, port: int) -> tuple[object, Any]:
        walk.note(host, port)
        await sleep(0)
        now.us += pick((100.0, 3e4))
        if pick((True, *(False,) * 60)):
            load._stop.set()
        errors = (ConnectionRefusedError(), ConnectionRefusedError(), TimeoutError(), OSError(1, "off"), OSError("odd"))
        if error := pick((*errors, *(None,) * 12)):
            raise error
        transport: Any = SimpleNamespace(
            get_extra_info=lambda name: pick((None, ("::2", 80, 0, 0))) if name == "peername" else Mock(),
            write=lambda data: walk.note(data),
            **{name: lambda name=name: walk.note(name) for name in ("abort", "close")},
        )
        (connection := made()).connection_made(transport)
        for data in pick(((ANSWER,) * 2, (ANSWER,) * 2, (ANSWER,), (ANSWER[:1], ANSWER[1:] * 9), (b"nonsense",), ())):
            connection.data_received(data)
        loop.call_soon(connection.connection_lost, pick((None, OSError(1, "gone"))))
        return transport, connection

    monkeypatch.setattr(asyncio, "sleep", sleeps)
    monkeypatch.setattr(asyncio, "timeout", limited)
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", connects)
    for _ in range(200):
        fails, many = pick((True, False)), pick((1, 3, 8))
        calls = LoadGenerator(lambda: Ask(2), many, at_once=pick((1, 2)), pause_us=pick((0, 30)), counts_failures=fails)
        limit_s = pick((10, 0.05))
        load: Any = load_generator.SocketLoadGenerator(calls, max_bytes=pick((3, 90)), connect_limit_s=limit_s)
        load.on_fault, load._clock_us, load._changed = walk.note, lambda: now.us, MagicMock()
        asyncio.run(load._call(Listening(STATIC, 80), started := threading.Event()))
        walk.note(started.is_set(), *map(asdict, load.finish(7.5)), load._changed.wait_for.call_args.args[1:])
        walk.note(load._changed.notify_all.call_count, calls.over)
    assert walk.checksum == "27d1a1807653fa9c"


def test_tls_of_real_sockets_has_the_date_of_this_pc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 7.9)
    load = load_generator.SocketLoadGenerator(LoadGenerator(lambda: Ask(1), 1, tls=(server := ("pc.test", b"root"))))
    accepted = tcp.WorkloadServer(workload("tls"))._connection().recording
    for recording, of in ((load._calls.begin("", 0.0), server), (accepted, None)):
        channel: Any = recording and recording._channel
        assert (channel._server, channel._peer, channel._date_s(0.0)) == (of, openssl.peer(), 7)


def test_echo_requests_names_of_suites_and_identities() -> None:
    walk = Walk(3)
    for _ in range(400):
        packet = icmp._request(walk.pick((0, 7, 65_535)), walk.pick((0, 1, 56, 1472)))
        damaged = bytearray(walk.pick((b"", bytes([0x45]) + bytes(19), bytes([0x46]) + bytes(23))) + packet)
        damaged[-len(packet)] = walk.pick((0, 0, 8))
        damaged[int(len(damaged) * walk.pick((0.0, 0.3, 0.6, 0.9)))] ^= walk.pick((0, 0, 1, 255))
        walk.note(packet, [icmp._answered(bytes(damaged[: walk.pick((7, 9999))]), owns) for owns in (True, False)])
        rest = walk.pick(("AES128-GCM-SHA256", "AES256-SHA384", "AES128-CCM8", "CHACHA20-POLY1305", "RC4-MD5"))
        walk.note(openssl._standard_name(f"{walk.pick(('ECDHE-RSA', 'TLS_AES', 'DHE-ECDSA'))}-{rest}"))
    for each in identities():
        walk.note(each.name, len(each.chain.certificates), each.version, each.client_root is None)
    assert walk.checksum == "da1e2adf7a160672"


def test_constants_and_defaults_are_as_they_were_read() -> None:
    pytest.importorskip("portbench_engine")
    assert_as_read(server, Path(__file__).with_name("declared.txt"))
