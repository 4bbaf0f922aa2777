"""The PC's part over UDP, real and simulated, figures, what a result must be, and rows of it."""

import itertools
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from portbench.server.tcp import WorkloadServer, _UdpPort
from portbench.workloads import BadResult, ConversationError, workload
from portbench.workloads.udp.workload import ANSWERS, BETWEEN_US, Counted, Settings

UDP = workload("udp")
SETTINGS = Settings(sizes="100,1000", count=100, rates_kbit_s="1000,8000")
GOOD = {
    "up": [[100, 100, 0, 80_000, 100], [1000, 90, 10, 400_000, 80]],
    "down": [[1000, 99, 784_000], [8000, 51, 100_000]],
}
PEER = "10.0.0.2:4000"


def test_what_comes_is_counted_by_peer_and_transfer() -> None:
    part = Counted()
    for number in (3, 3, 4):
        assert part.receive(PEER, b"u%cxx" % number) == []
    part.receive("10.0.0.3:1", b"u\x03")
    said = part.receive(PEER, b"q\x03")
    assert [data for _, data in said] == [b"a\x03002"] * ANSWERS
    assert [after_us for after_us, _ in said] == [(number + 1) * BETWEEN_US for number in range(ANSWERS)]
    assert part.receive(PEER, b"q\x09")[0][1] == b"a\x09000"


def test_a_transfer_down_has_its_times_and_its_end() -> None:
    part = Counted()
    said = part.receive(PEER, b"d\x05 20 3 1000")
    assert said[:3] == [(0, b"D\x05" + bytes(18)), (1000, b"D\x05" + bytes(18)), (2000, b"D\x05" + bytes(18))]
    assert said[3] == (3000 + BETWEEN_US, b"e\x05" + bytes(18)) and len(said) == 3 + ANSWERS


@given(st.binary(max_size=60))
def test_anything_else_is_nothing(data: bytes) -> None:
    said = Counted().receive(PEER, data)
    assert said == [] or data[:1] in (b"q", b"d")


@pytest.mark.parametrize(
    "asks", [b"1 3 1", b"1473 3 1", b"20 0 1", b"20 901 1", b"20 3 1000001", b"20 3", b"", b"1472 900 234"]
)
def test_what_no_pc_sends(asks: bytes) -> None:
    assert Counted().receive(PEER, b"d\x01 " + asks) == []


def test_only_so_many_peers_are_kept() -> None:
    part = Counted()
    for number in range(100):
        part.receive(f"10.0.0.{number}:1", b"u\x01")
    assert part.receive("10.0.0.63:1", b"q\x01") and not part.receive("10.0.0.64:1", b"q\x01")


def test_figures() -> None:
    figures = UDP.check(GOOD, SETTINGS).figures
    assert (figures["up_100_mbit_s"], figures["up_1000_mbit_s"]) == (1, 1.6)
    assert (figures["up_mbit_s"], figures["up_best_bytes"], figures["up_lost_percent"]) == (1.6, 1000, 20)
    assert (figures["up_1000_lost"], figures["up_1000_refused"]) == (10, 10)
    assert (figures["down_mbit_s"], figures["down_peak_mbit_s"]) == (1, 4)
    assert (figures["down_1000_lost_percent"], figures["down_8000_lost_percent"]) == (1, 49)
    queued = UDP.check(GOOD | {"down": [[1000, 5, 100], [8000, 12, 100]]}, SETTINGS).figures
    assert queued["down_peak_mbit_s"] == 11 * 8000 / 99_000


@pytest.mark.parametrize(
    "changed",
    [
        {"up": []},
        {"up": [[100, 99, 0, 80_000, 99], GOOD["up"][1]]},
        {"up": [[100, 90, 10, 80_000, 91], GOOD["up"][1]]},
        {"down": GOOD["down"][:1]},
        {"down": [[1000, 101, 1], GOOD["down"][1]]},
        {"down": None},
    ],
)
def test_a_result_that_is_none(changed: dict[str, Any]) -> None:
    with pytest.raises(BadResult):
        UDP.check(GOOD | changed, SETTINGS)


@pytest.mark.parametrize("settings", [{"sizes": "1"}, {"sizes": "9,9"}, {"rates_kbit_s": "x"}, {"rates_kbit_s": "49"}])
def test_settings_that_are_none(settings: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Settings(**settings)  # type: ignore[arg-type]


def test_the_end_is_one_word() -> None:
    hears = UDP.conversation(1000)
    with pytest.raises(ConversationError, match="before it was over"):
        hears.eof()
    hears.receive(b"ov")
    hears.receive(b"er\n")
    hears.eof()
    with pytest.raises(ConversationError, match="after it was over"):
        hears.receive(b"x")
    with pytest.raises(ConversationError, match="not over"):
        UDP.conversation(1000).receive(b"x")


def test_a_report_follows_the_end() -> None:
    hears = UDP.conversation(1000)
    hears.receive(b'over\n{"up":')
    with pytest.raises(ConversationError, match="within its report"):
        hears.eof()
    hears.receive(b"[]}\n")
    hears.eof()
    assert hears.report == {"up": []} and hears.exchanges == 1


@contextmanager
def asks(server: WorkloadServer, address: str = "127.0.0.1") -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.settimeout(60)
        board.bind((address, 0))
        board.connect((server.host, server.port))
        yield board


def connect(server: WorkloadServer) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=60)


def test_the_real_pc_answers_on_the_same_port() -> None:
    with WorkloadServer(UDP, port=0) as server, connect(server), asks(server) as board:
        board.send(b"u\x07")
        board.send(b"q\x07")
        assert [board.recv(100) for _ in range(ANSWERS)] == [b"a\x07001"] * ANSWERS
        board.send(b"d\x08 30 2 4")
        said = [board.recv(100) for _ in range(2 + ANSWERS)]
        assert said == [b"D\x08" + bytes(28)] * 2 + [b"e\x08" + bytes(28)] * ANSWERS


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 without being told")
def test_the_real_pc_answers_only_a_connected_address() -> None:
    with (
        WorkloadServer(UDP, port=0) as server,
        asks(server, "127.0.0.2") as other,
        connect(server),
        asks(server) as board,
    ):
        other.send(b"d\x01 1472 900 235")
        board.send(b"q\x07")
        assert board.recv(100) == b"a\x07000"
        assert select.select([other], [], [], 0)[0] == []


def test_a_datagram_may_come_before_the_server_has_seen_its_connection() -> None:
    goes_on = threading.Event()
    with WorkloadServer(UDP, port=0, on_session=lambda _: goes_on.wait(60)) as server, asks(server) as board:
        connect(server).close()
        server.wait_sessions(1, 60)  # it stands still from here on
        with connect(server):
            board.send(b"u\x07")
            board.send(b"q\x07")
            goes_on.set()
            assert board.recv(100) == b"a\x07001"


class Loop:
    """An event loop without waiting."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        return self.now_s

    def call_soon(self, call: Callable[..., None], *of: Any) -> Mock:
        return self.call_at(self.now_s, call, *of)

    def call_at(self, at_s: float, call: Callable[..., None], *of: Any) -> Mock:
        timer = (at_s, next(self._numbers), lambda: call(*of))
        self.timers.append(timer)
        return Mock(cancel=lambda: self.timers.remove(timer))

    def run(self, end_s: float = 1e9) -> None:
        while self.timers and min(self.timers)[0] <= end_s:
            timer = min(self.timers)
            self.timers.remove(timer)
            self.now_s = max(self.now_s, timer[0])
            timer[2]()


def test_each_connection_is_a_run_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs of a client at one address, as on this PC."""
    loop, sent = Loop(), list[bytes]()
    monkeypatch.setattr("asyncio.get_running_loop", lambda: loop)
    connected: dict[str, int] = {}
    port = _UdpPort(Counted, connected.get)
    transport = Mock(is_closing=lambda: False)
    transport.sendto = lambda data, to: sent.append(data)
    port.connection_made(transport)
    for number in (1, 4):
        connected["127.0.0.1"] = number
        for data in (b"u\x07", b"u\x07", b"q\x07"):
            port.datagram_received(data, ("127.0.0.1", 5001))
            loop.run()
    assert set(sent) == {b"a\x07002"}


def test_a_flood_of_requests_is_one_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes out for bytes in, of an address without a connection and of one with."""
    loop, sent = Loop(), list[tuple[int, int]]()
    monkeypatch.setattr("asyncio.get_running_loop", lambda: loop)
    connected: dict[str, int] = {}
    port = _UdpPort(Counted, connected.get)
    transport = Mock(is_closing=lambda: False)
    transport.sendto = lambda data, to: sent.append((round(loop.now_s * 1e6), len(data)))
    port.connection_made(transport)

    def flood() -> None:
        for number in range(600):
            port.datagram_received(b"d%c 1472 900 235" % (number % 256), ("10.0.0.2", number))
            loop.run(loop.now_s)

    flood()
    assert (sent, loop.timers) == ([], [])
    connected["10.0.0.2"] = 1
    flood()
    assert len(loop.timers) == 1
    loop.run()
    assert [each for each in sent if each[0] == 0] == [(0, 1472)] * 600
    end_us = 900 * 235 + BETWEEN_US
    ends = [(end_us + number * BETWEEN_US, 1472) for number in range(ANSWERS)]
    assert sent[600:] == [(number * 235, 1472) for number in range(1, 900)] + ends
    flood()
    connected.clear()
    sent.clear()
    loop.run()
    assert (sent, loop.timers) == ([], [])
