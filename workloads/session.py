"""The PC's record of each connection of a workload, real or simulated."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from portbench.workloads.conversation import Ping


@dataclass(frozen=True)
class Turnaround:
    """Times in this process, from the last byte of an exchange to the handover of its answer to the system."""

    n: int
    median_us: float
    p99_us: float
    max_us: float

    @classmethod
    def of(cls, values_us: list[float]) -> Turnaround | None:
        """Summary of `values_us`; None if it is empty."""
        if not values_us:
            return None
        ordered = sorted(values_us)
        return cls(len(ordered), statistics.median(ordered), ordered[(len(ordered) - 1) * 99 // 100], ordered[-1])


@dataclass(frozen=True)
class Handshake:
    """A TLS handshake, as the PC saw it; None for a version or cipher suite that was not agreed.

    `board_bytes`, `pc_bytes`: on the network, with the headers of records, up to the end of the handshake. `messages`:
    sender (`board`, `pc`), name as in the standards, bytes, and when it came in microseconds; for those of the PC, when
    the bytes came that they answer.
    """

    version: str | None
    cipher_suite: str | None
    server_name: str | None
    resumed: bool
    board_bytes: int
    pc_bytes: int
    messages: Sequence[tuple[str, str, int, float]]

    def when(self, name: str, sender: str = "board") -> float | None:
        """When the first message of that name came."""
        return next((at for by, what, _, at in self.messages if (by, what) == (sender, name)), None)


@dataclass(frozen=True)
class Session:
    """One connection between the PC and a board, from its beginning to its end.

    Times are microseconds since the start of the real PC's part, or since the simulated board's power cycle.
    """

    number: int
    """The connection's number, from 0, in the order of starting."""
    peer: str
    """`address:port` of the board."""
    started_us: float
    """When the PC accepted it, or began to connect."""
    ended_us: float | None
    """None while it lasts."""
    exchanges: int
    """Complete exchanges: correct bytes came, and were answered."""
    received_bytes: int
    error: str | None
    """The reason, in one line, why the session is not good; None for a good one."""
    report: dict[str, Any] | None = None
    """The report of a client without a console."""
    received_us: list[float] = field(default_factory=list, repr=False)
    """The time of the last byte of each exchange."""
    sent_us: list[float] = field(default_factory=list, repr=False)
    """When each answer was handed over; empty if the turnaround is a setting."""
    arrivals: int = 0
    """Number of arrivals that completed at least one exchange."""
    attempts: int = 1
    """Attempts to connect; all but the last were refused."""
    established_us: float | None = None
    """The end of the handshake; equal to `started_us` if the board connected."""
    asked_us: float | None = None
    """When the PC's first bytes were handed over; None if the board speaks first."""
    first_byte_us: float | None = None
    last_byte_us: float | None = None
    leased_us: float | None = None
    """Time at which the PC's DHCP server gave the board its address; None if it did not, or the time is unknown."""
    listening: str | None = None
    """The line with which a client announced its port: such a connection belongs to no exchange."""
    delivered_us: list[float] = field(default_factory=list, repr=False)
    """When the PC sent by itself, outside an answer: the time of each handover, in order."""
    ping_bytes: list[int] = field(default_factory=list, repr=False)
    """Data bytes of each ping of the PC, in order."""
    ping_round_trip_us: list[float | None] = field(default_factory=list, repr=False)
    """None for an unanswered ping."""
    tls: dict[str, Any] | None = field(default=None, repr=False)
    """Data for `handshake`; None for a plain connection."""

    @property
    def handshake(self) -> Handshake | None:
        """The TLS handshake; None for a plain connection."""
        return None if self.tls is None else Handshake(**self.tls)

    @property
    def pings(self) -> list[Ping]:
        """The PC's pings, in the order of sending."""
        return [Ping(*each) for each in zip(self.ping_bytes, self.ping_round_trip_us, strict=True)]

    @property
    def ok(self) -> bool:
        """The session has no error."""
        return self.error is None

    @property
    def pipelined(self) -> int:
        """Exchanges that came before the previous answer."""
        return self.exchanges - self.arrivals

    @property
    def turnaround_us(self) -> list[float]:
        """Turnaround of each exchange in microseconds."""
        return [sent - got for got, sent in zip(self.received_us, self.sent_us, strict=True)] if self.sent_us else []

    @property
    def turnaround(self) -> Turnaround | None:
        """Summary of `turnaround_us`."""
        return Turnaround.of(self.turnaround_us)

    def line(self) -> str:
        """The record as one line for a person."""
        lasted_us = (self.ended_us or self.started_us) - self.started_us
        words = [
            self.peer,
            "ok" if self.ok else "bad",
            f"exchanges={self.exchanges}",
            f"bytes={self.received_bytes}",
            f"seconds={lasted_us / 1e6:.3f}",
        ]
        if turnaround := self.turnaround:
            words.append(f"turnaround_us={turnaround.median_us:.1f} (p99 {turnaround.p99_us:.1f})")
        if self.pipelined:
            words.append(f"pipelined={self.pipelined}")
        if self.attempts > 1:
            words.append(f"attempts={self.attempts}")
        if self.report is not None:
            words.append("report=yes")
        if self.error is not None:
            words.append(f"error: {self.error}")
        return " ".join(words)
