"""Ping a running emulated board from its simulated PC, in simulated time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

import click

from portbench.boards import Deadline
from portbench.boards.emulated.pings import MAX_BYTES
from portbench.console import shown
from portbench.runner.cli.desk import ANSWER_S, controls
from portbench.runner.cli.serving import until_stopped

_AHEAD_US = 300_000.0
"""A request is scheduled so long before its time, so that the clock of simulated time alone decides when it goes."""
_HEADERS = 8
_FRAME_HEADERS = 28


@click.command()
@click.argument("name")
@click.argument("address", required=False)
@click.option("-c", "--count", type=click.IntRange(1, 65_535), help="stop after so many (default: at Ctrl-C)")
@click.option("-s", "--size", type=click.IntRange(0, MAX_BYTES), default=56, show_default=True, help="bytes of data")
@click.option("-i", "--interval-s", type=click.FloatRange(0.001, 3600), default=1.0, show_default=True)
@click.option(
    "-W", "--wait-s", type=click.FloatRange(0.001, 3600), default=1.0, show_default=True, help="for an answer"
)
def COMMAND(name: str, address: str | None, count: int | None, size: int, interval_s: float, wait_s: float) -> int:
    with controls(name) as board:
        pinging = Pinging(board, name, address, size=size, interval_us=interval_s * 1e6, wait_us=wait_s * 1e6)
        with until_stopped() as wait:
            while not pinging.over(count) and wait():
                for line in pinging.go_on(count):
                    click.echo(line)
        for line in pinging.summary():
            click.echo(line)
    return 0 if pinging.received else 1


class Board(Protocol):
    """A running board's control channel."""

    def call(self, op: str, deadline: Deadline, **arguments: Any) -> dict[str, Any]: ...


class Pinging:
    """Requests to the board's own address where `address` is None. Times are simulated microseconds."""

    def __init__(
        self, board: Board, name: str, address: str | None, *, size: int, interval_us: float, wait_us: float
    ) -> None:
        self._board = board
        self._name = name
        self._address = address
        self._size = size
        self._interval_us = interval_us
        self._wait_us = wait_us
        self._next_us = 0.0
        self._waiting: dict[int, tuple[int, float]] = {}
        self._round_trips_us: list[float] = []
        self._first_us: float | None = None
        self._last_us = 0.0
        self._now_us = 0.0
        self.sent = 0

    @property
    def received(self) -> int:
        return len(self._round_trips_us)

    def over(self, count: int | None) -> bool:
        return count is not None and self.sent >= count and not self._waiting

    def go_on(self, count: int | None) -> Iterator[str]:
        """Send the requests that are due soon, and yield lines about answers."""
        while (count is None or self.sent < count) and (self.sent == 0 or self._next_us <= self._now_us + _AHEAD_US):
            sent = self._call("ping", address=self._address, size=self._size, at_us=self._next_us)
            self.sent += 1
            self._waiting[sent["number"]] = (self.sent, sent["at_us"])
            self._next_us = sent["at_us"] + self._interval_us
            self._last_us = sent["at_us"]
            if self._first_us is None:
                self._first_us = self._now_us = sent["at_us"]
                self._address = address = sent["address"]
                yield f"PING {address} ({address}) {self._size}({self._size + _FRAME_HEADERS}) bytes of data."
        had = self._call("pings", numbers=list(self._waiting))
        self._now_us = had["time_us"]
        for answer in had["answers"]:
            sequence, _ = self._waiting.pop(answer["number"])
            self._round_trips_us.append(answer["round_trip_us"])
            yield shown(
                f"{answer['bytes'] + _HEADERS} bytes from {answer['address']}:"
                f" icmp_seq={sequence} time={_ms(answer['round_trip_us'])} ms"
            )
        for number, (_, at_us) in list(self._waiting.items()):
            if self._now_us > at_us + self._wait_us:
                del self._waiting[number]

    def summary(self) -> Iterator[str]:
        """Requests without an answer so far count as lost."""
        if self._first_us is None:
            return
        lost = 100 * (self.sent - self.received) / self.sent
        yield ""
        yield f"--- {self._address} ping statistics ---"
        yield (
            f"{self.sent} packets transmitted, {self.received} received, {lost:.4g}% packet loss,"
            f" time {round((self._last_us - self._first_us) / 1000)}ms"
        )
        if times := self._round_trips_us:
            mean = math.fsum(times) / len(times)
            deviation = math.sqrt(max(0.0, math.fsum((each - mean) ** 2 for each in times) / len(times)))
            figures = "/".join(_ms(each) for each in (min(times), mean, max(times), deviation))
            yield f"rtt min/avg/max/mdev = {figures} ms"

    def _call(self, op: str, **arguments: Any) -> dict[str, Any]:
        return self._board.call(op, Deadline(ANSWER_S, self._name), **arguments)


def _ms(us: float) -> str:
    return f"{us / 1000:.3f}"
