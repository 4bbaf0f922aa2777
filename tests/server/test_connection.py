"""A real connection on a loop and a clock of the test's own: what it does, to the second."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from portbench.server import connection as connection_module
from portbench.server.connection import Connection, Limits
from portbench.server.recording import Recording
from portbench.server.tcp import _UdpPort
from portbench.workloads import Conversation, ConversationError, Ping, PingPlan

PLAN = PingPlan((64, 56), 2, 1_000, 500_000)
Event = tuple[object, ...]


class Obeying(Conversation):
    """Does what the board's words say; a word is an exchange unless it says otherwise."""

    was_lost = False

    def receive(self, data: bytes) -> bytes:
        match data.split():
            case [b"part"]:
                return b""
            case [b"quiet"]:
                self.exchanges += 1
                return b""
            case [b"wrong"]:
                raise ConversationError("it is wrong", b"due")
            case [b"report"]:
                self.report = {}
                return b"yes"
            case [b"listening"]:
                self.listening = "here"
            case [b"ping"]:
                self.pings = PLAN
            case [b"silence", seconds]:
                self.silence_us = float(seconds) * 1e6
            case [b"later", seconds]:
                self._line.send(b"late", float(seconds) * 1e6)
            case [b"close"]:
                self._line.close()
        self.exchanges += 1
        self.finished = data == b"bye"
        return b"yes"

    @property
    def _line(self) -> Any:
        assert self.line is not None
        return self.line

    def opened(self) -> bytes:
        return b"hello"

    def pinged(self) -> bytes:
        return b"pinged"

    def lost(self) -> None:
        self.was_lost = True

    def eof(self) -> None:
        if self.exchanges == 1:
            raise ConversationError("too early")


class Bench:
    """A connection with its loop and its transport; `events` are what the transport was asked for, and when."""

    def __init__(self, limit: int | None = None, refusal: str | None = None, max_bytes: int = 100) -> None:
        self.now_s = 0.0
        self.is_over = False
        self.events: list[Event] = []
        self.timers: list[tuple[float, Callable[..., object], tuple[Any, ...], Mock]] = []
        self.ended: list[Connection] = []
        self.socket = Mock()
        self.conversation = Obeying()
        self.recording = Recording(0, "unknown", 0.0, self.conversation, limit)
        limits = Limits(max_bytes, 30.0)
        self.connection = Connection(self.recording, limits, refusal, lambda: self.now_s * 1e6, self.ended.append)
        self.transport: Any = SimpleNamespace(
            write=lambda data: self._note("write", data),
            sendto=lambda data, to: self._note("to", to[0], data),
            is_closing=lambda: self.is_over,
            get_extra_info=lambda name: ("::1", 7, 0, 0) if name == "peername" else self.socket,
            **{name: self._noting(name) for name in ("close", "abort", "pause_reading", "resume_reading")},
        )

    def _noting(self, name: str) -> Callable[[], None]:
        return lambda: self._note(name)

    def _note(self, *words: object) -> None:
        self.events.append((self.now_s, *words))
        self.is_over |= words[0] in ("close", "abort")

    def call_later(self, delay_s: float, call: Callable[..., object], *words: Any) -> Mock:
        handle = Mock()
        self.timers.append((self.now_s + delay_s, call, words, handle))
        return handle

    def call_soon(self, call: Callable[..., object], *words: Any) -> Mock:
        return self.call_later(0.0, call, *words)

    def call_at(self, at_s: float, call: Callable[..., object], *words: Any) -> Mock:
        return self.call_later(at_s - self.now_s, call, *words)

    def time(self) -> float:
        return self.now_s

    def create_task(self, work: Coroutine[Any, Any, None]) -> Mock:
        """It ends when its timer comes, after four minutes."""
        task = Mock(done=lambda: not any(each[3] is handle for each in self.timers))
        handle = self.call_later(240.0, lambda: asyncio.run(work))
        return task

    def until(self, now_s: float) -> list[Event]:
        """The events up to then."""
        while due := [each for each in self.timers if each[0] <= now_s and not each[3].cancel.called]:
            first = min(due, key=lambda each: each[0])
            self.timers.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[1](*first[2])
        self.now_s = now_s
        found, self.events = self.events, []
        return found

    def say(self, data: bytes, now_s: float) -> list[Event]:
        before = self.until(now_s)
        self.connection.data_received(data)
        return before + self.until(now_s)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    def make(**more: Any) -> Bench:
        bench = Bench(**more)
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: bench)
        monkeypatch.setattr(connection_module, "time", SimpleNamespace(monotonic=lambda: bench.now_s))
        bench.connection.connection_made(bench.transport)
        return bench

    return make


def test_a_conversation_has_its_times_and_leaves_no_timer(made: Callable[..., Bench]) -> None:
    bench = made()
    assert bench.until(0) == [(0, "write", b"hello")] and bench.recording.peer == "::1:7"
    bench.socket.setsockopt.assert_called_once_with(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    assert bench.connection.address == "::1" and bench.connection.silent_since_s == 0
    assert bench.say(b"later 2.5", 1) == [(1, "write", b"yes")] and bench.connection.silent_since_s is None
    assert bench.say(b"silence 9", 3) == [(3, "write", b"yes")]
    assert bench.say(b"part", 4) == [(3.5, "write", b"late")]
    bench.connection.pause_writing()
    bench.connection.resume_writing()
    assert bench.say(b"close", 12.5)[:2] == [(4, "pause_reading"), (4, "resume_reading")]
    bench.connection.resume_writing()
    bench.connection.eof_received()
    assert bench.say(b"x", 13) == []  # nothing is read after the end
    bench.connection.connection_lost(None)
    assert all(handle.cancel.called for *_, handle in bench.timers) and bench.ended == [bench.connection]
    session = bench.recording.session()
    assert (session.established_us, session.asked_us, session.ended_us) == (0, 0, 13e6)
    assert session.received_us == session.sent_us == [1e6, 3e6, 12.5e6] and session.delivered_us == [3.5e6]
    assert session.error is None and not bench.conversation.was_lost


def test_a_connection_that_is_dropped_before_it_is_handed_over_says_nothing() -> None:
    refused, dropped = Bench(refusal="full"), Bench()
    dropped.connection.abort("dropped")
    for bench, error in ((refused, "full"), (dropped, "dropped")):
        bench.connection.connection_made(bench.transport)
        assert bench.until(99) == [(0, "abort")] and bench.recording.error == error


def test_after_its_pings_a_board_may_be_silent_for_its_whole_limit(
    made: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ping(address: str, plan: PingPlan) -> list[Ping]:
        assert (address, plan) == ("::1", PLAN)
        return [Ping(64, 5.0)]

    monkeypatch.setattr(connection_module, "ping", ping)
    bench = made()
    bench.say(b"ping", 1)
    assert bench.until(999) == [(241, "write", b"pinged"), (271, "abort")]
    assert bench.recording.error == "no whole exchange for 30 s after 1 exchanges"


def test_a_board_that_is_called_may_be_silent_until_its_report(made: Callable[..., Bench]) -> None:
    bench = made()
    bench.say(b"listening", 1)
    assert bench.until(400) == [] and bench.say(b"report", 401) == [(401, "write", b"yes")]
    assert bench.until(999) == [(431, "abort")] and bench.recording.error is None


def test_datagrams_are_answered_at_their_times_where_a_connection_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, runs = Bench(), {"a": 3}
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: bench)
    made: list[list[object]] = []

    def conversation() -> Any:
        heard: list[object] = []
        made.append(heard)
        answers = [(0.0, b"now"), (2e6, b"late"), (2e6, b"too")]
        return SimpleNamespace(receive=lambda peer, data: answers if heard.append((peer, data)) is None else [])

    port = _UdpPort(conversation, runs.get)
    port.connection_made(bench.transport)

    def asked(address: str, at_s: float) -> list[Event]:
        before = bench.until(at_s)
        port.datagram_received(b"q", (address, 9))
        assert bench.events == []  # a connection that was made before it is accepted first
        return before + bench.until(at_s)

    assert asked("b", 0) == [] and made == []
    assert asked("a", 1) == [(1, "to", "a", b"now")]
    assert asked("a", 2) == [(2, "to", "a", b"now")]  # in place of the transfer before
    assert bench.until(5) == [(4, "to", "a", b"late"), (4, "to", "a", b"too")]
    runs["a"] = 4
    asked("a", 6)
    assert made == [[("a:9", b"q")] * 2, [("a:9", b"q")]]
    del runs["a"]
    assert bench.until(99) == []
