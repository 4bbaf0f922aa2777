"""Pings of the real PC, to itself, and of the simulated one."""

import asyncio
import contextlib
import socket
import struct
import time
from itertools import count
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.server.icmp import _answered, _checksum, _request, _socket, ping
from portbench.workloads import Ping, PingPlan

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
    icmp, limit = Icmp(["10.0.0.3"], ["10.0.0.3", board, board], [], ["full"]), Mock(wraps=asyncio.timeout)
    sleep = Mock(wraps=asyncio.sleep)
    monkeypatch.setattr(asyncio, "timeout", limit)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    found = pinged(icmp, PingPlan((5,), 4, 20_000, 50_000), monkeypatch)
    assert [each.round_trip_us is not None for each in found] == [False, True, False, False]
    assert limit.mock_calls == [call(0.05)] and all(each.args[0] < 0.021 for each in sleep.mock_calls)
    times_s, requests, to = zip(*icmp.sent, strict=True)
    assert all(at_s >= began_s + 0.02 * number for number, at_s in enumerate(times_s)) and set(to) == {(board, 0)}
    headers = [struct.unpack(">BBHHH", each[:8]) for each in requests]
    assert [(each[0], each[1], each[4]) for each in headers] == [(8, 0, number) for number in range(4)]
    assert all(each[8:] == bytes(range(5)) for each in requests)
    began_s = time.monotonic()
    assert pinged(Icmp([board], [board]), PingPlan((5,), 2, 0, 20_000_000), monkeypatch)[1].round_trip_us
    assert time.monotonic() - began_s < 20  # nothing more is waited for
    ticks = count(step=7500)
    clock = SimpleNamespace(perf_counter_ns=lambda: next(ticks))
    monkeypatch.setattr("portbench.server.icmp.time", clock)
    twice = pinged(Icmp([board, board], []), PingPlan((5,), 2, 20_000, 20_000), monkeypatch)
    assert twice == [Ping(5, 7.5), Ping(5, None)]
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


def test_the_kernel_owns_the_identifier_where_it_may_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    for refused, owns in ((0, True), (1, False)):
        made = Mock(side_effect=[*[PermissionError(1, "no")] * refused, opened := MagicMock()])
        monkeypatch.setattr("portbench.server.icmp.socket.socket", made)
        with _socket("10.0.0.2") as (_, found):
            assert found is owns and not opened.__exit__.called
        assert opened.__exit__.called
        kinds = (socket.SOCK_DGRAM, socket.SOCK_RAW)[: refused + 1]
        assert made.mock_calls[: refused + 1] == [call(socket.AF_INET, kind, socket.IPPROTO_ICMP) for kind in kinds]


def test_one_who_may_not_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    async def try_it() -> None:
        monkeypatch.setattr("portbench.server.icmp.socket.socket", refuse)
        await ping("10.0.0.2", PLAN)

    with pytest.raises(
        PortbenchError,
        match=r"^ping 10\.0\.0\.2: not allowed on this PC \(Operation not permitted\); allow it with: sudo sysctl -w"
        r" net\.ipv4\.ping_group_range='0 2147483647'$",
    ):
        asyncio.run(try_it())
