"""Pings of the real PC, to itself, and of the simulated one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.server.connection import Connection, Limits
from portbench.server.icmp import _answered, _checksum, _request, ping
from portbench.server.recording import Recording
from portbench.server.simulated_pc import CALL_DELAY_US, Part, SimulatedPc
from portbench.workloads import Ping, PingPlan
from portbench.workloads.ping.workload import PingsOnDemand
from tests.server.asking import UnaskedLan

PLAN = PingPlan((0, 56, 1472), 2, 1000, 5_000_000)


def may_ping() -> None:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP).close()
            return
        except OSError:
            continue
    pytest.skip("ping is not allowed on this PC; allow it with: sysctl -w net.ipv4.ping_group_range='0 2147483647'")


def test_this_pc_answers_itself() -> None:
    may_ping()
    found = asyncio.run(ping("127.0.0.1", PLAN))
    assert [each.data_bytes for each in found] == [0, 0, 56, 56, 1472, 1472]
    assert all(each.round_trip_us is not None and each.round_trip_us > 0 for each in found)


class Icmp:
    """A socket on which `answers` come, each with its source, for each request."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = iter(answers)
        self._mine, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.fileno, self.setblocking = self._mine.fileno, self._mine.setblocking
        self.sent: list[tuple[float, bytes, tuple[str, int]]] = []

    def sendto(self, request: bytes, to: tuple[str, int]) -> None:
        self.sent.append((time.monotonic(), request, to))
        for source in next(self._answers):
            if source == "full":
                raise BlockingIOError
            if source == "off":
                raise OSError(101, "Network is unreachable")
            self._theirs.send(source.encode() + b" \0" + request[1:])

    def recvfrom(self, size: int) -> tuple[bytes, tuple[str, int]]:
        assert not self._mine.getblocking()
        source, _, packet = self._mine.recv(size).partition(b" ")
        return packet, (source.decode(), 0)


def pinged(icmp: Icmp, plan: PingPlan, monkeypatch: pytest.MonkeyPatch) -> list[Ping]:
    async def run() -> list[Ping]:
        try:
            return await ping("10.0.0.2", plan)
        finally:
            assert not asyncio.get_running_loop().remove_reader(icmp)  # it is gone

    monkeypatch.setattr("portbench.server.icmp._socket", lambda _: contextlib.nullcontext((icmp, True)))
    return asyncio.run(run())


def test_only_the_boards_first_answers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    board = "10.0.0.2"
    began_s = time.monotonic()
    icmp = Icmp(["10.0.0.3"], ["10.0.0.3", board, board], [], ["full"])
    found = pinged(icmp, PingPlan((5,), 4, 20_000, 50_000), monkeypatch)
    assert [each.round_trip_us is not None for each in found] == [False, True, False, False]
    times_s, requests, to = zip(*icmp.sent, strict=True)
    assert all(at_s >= began_s + 0.02 * number for number, at_s in enumerate(times_s)) and set(to) == {(board, 0)}
    headers = [struct.unpack(">BBHHH", each[:8]) for each in requests]
    assert [(each[0], each[1], each[4]) for each in headers] == [(8, 0, number) for number in range(4)]
    assert all(each[8:] == bytes(range(5)) for each in requests)
    began_s = time.monotonic()
    assert pinged(Icmp([board], [board]), PingPlan((5,), 2, 0, 20_000_000), monkeypatch)[1].round_trip_us
    assert time.monotonic() - began_s < 20  # nothing more is waited for
    with pytest.raises(PortbenchError, match=r"^ping 10\.0\.0\.2: cannot send \(Network is unreachable\)$"):
        pinged(Icmp(["off"]), PLAN, monkeypatch)


def test_an_answer_is_ours_by_its_kind_and_identifier() -> None:
    def answered(kind: int, code: int, ident: int, before: bytes = b"") -> list[int | None]:
        packet = before + struct.pack(">BBHHH", kind, code, 0, ident, 7) + b"data"
        return [_answered(packet, owns) for owns in (True, False)]

    ident = struct.unpack(">BBHHH", _request(7, 0))[3]
    assert answered(0, 0, ident) == answered(0, 0, ident, b"\x46" + bytes(23)) == [7, 7]
    assert answered(0, 0, ident + 1) == [7, None]
    assert answered(8, 0, ident) == answered(0, 1, ident) == [None, None]
    assert [_answered(each, True) for each in (b"", bytes(7), b"\x45", bytes(8))] == [None, None, None, 0]


@given(st.binary(max_size=99))
def test_a_packet_with_its_checksum_sums_up_to_none(data: bytes) -> None:
    """RFC 1071; a last byte is a word's high half."""
    words = sum(data[0::2]) * 256 + sum(data[1::2]) + _checksum(data)
    assert words > 0 and words % 0xFFFF == 0


def test_one_who_may_not_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    async def try_it() -> None:
        monkeypatch.setattr("portbench.server.icmp.socket.socket", refuse)
        await ping("10.0.0.2", PLAN)

    with pytest.raises(
        PortbenchError, match=r"^ping 10\.0\.0\.2: not allowed on this PC .* net\.ipv4\.ping_group_range"
    ):
        asyncio.run(try_it())


def test_a_real_connection_pings_and_says_when_that_is_over() -> None:
    may_ping()

    async def talk() -> tuple[bytes, Recording]:
        recording = Recording(0, "unknown", 0.0, PingsOnDemand(1000))
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        limits = Limits(1000, 30.0)
        server = await asyncio.get_running_loop().create_server(
            lambda: Connection(recording, limits, None, lambda: 0.0, lambda _: gone.set_result(None)), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"ping 56,100 2 1\n")
            said = await reader.readexactly(4)
            writer.close()
            await gone
        return said, recording

    said, recording = asyncio.run(talk())
    session = recording.session()
    assert said == b"done" and session.ok and session.ping_bytes == [56, 56, 100, 100]


class Lan(UnaskedLan):
    """A simulated LAN that answers all pings but those of 9 bytes, after as many us as they have bytes."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, float]] = []
        self.said: list[tuple[int, bytes, float]] = []
        self.app: object = None

    def listen(self, port: int, app: object) -> None:
        self.app = app

    def lan_send(self, conn: int, data: bytes, at_us: float) -> bool:
        self.said.append((conn, data, at_us))
        return True

    def send(self, address: str, size: int, at_us: float) -> int:
        self.sent.append((address, size, at_us))
        return len(self.sent) - 1

    def take(self, numbers: list[int]) -> dict[int, float]:
        return {number: float(self.sent[number][1]) for number in numbers if self.sent[number][1] != 9}


@pytest.mark.parametrize(("sizes", "over_us"), [("10,20", 1_010_300 + 20), ("9,20", 1_010_300 + 1_000_000)])
def test_the_simulated_pc_pings_at_times_that_only_the_board_decides(sizes: str, over_us: float) -> None:
    lan = Lan()
    pc = SimulatedPc(lan, 5000, 200.0, Part(serve=lambda: PingsOnDemand(1000)), lan)
    server = lan.app
    server.accept(7, "10.0.0.2:4000", 500.0)  # type: ignore[attr-defined]
    server.receive(7, b"ping %s 1 1000\n" % sizes.encode(), 300.0)  # type: ignore[attr-defined]
    pc.look(999.0)
    first, second = map(int, sizes.split(","))
    start_us = 300.0 + CALL_DELAY_US
    assert lan.sent == [("10.0.0.2", first, start_us), ("10.0.0.2", second, start_us + 1e6)]
    pc.look(3e6)
    pc.look(4e6)
    assert lan.said == [(7, b"done", over_us + CALL_DELAY_US)]
    assert pc.sessions()[0].pings == [Ping(first, None if first == 9 else float(first)), Ping(second, float(second))]
