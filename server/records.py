"""What the server keeps of each client."""

from __future__ import annotations

import datetime
import statistics
from array import array
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Turnaround:
    """Time from a message's arrival in this process to its answer's handover to the operating system."""

    n: int
    median_us: float
    p99_us: float
    max_us: float

    @classmethod
    def of(cls, values_us: list[float]) -> Turnaround | None:
        """Summary of `values_us`; None where there are none."""
        if not values_us:
            return None
        ordered = sorted(values_us)
        return cls(len(ordered), statistics.median(ordered), ordered[(len(ordered) - 1) * 99 // 100], ordered[-1])


@dataclass(frozen=True)
class SessionRecord:
    """One client, from its connection to its end."""

    number: int
    """Counts connections from 0 in the order in which they came."""
    peer: str
    """`address:port` of the client."""
    started_utc: datetime.datetime
    duration_s: float
    messages: int
    """Messages whose value was right and that were answered."""
    received_bytes: int
    error: str | None
    """One line that says why the session is not good; None for a good one."""
    report: dict[str, Any] | None = None
    received_ns: array[int] = field(default_factory=lambda: array("q"), repr=False)
    """`time.perf_counter_ns` at each arrival that brought at least one whole message."""
    sent_ns: array[int] = field(default_factory=lambda: array("q"), repr=False)
    """`time.perf_counter_ns` once the answer was handed over; pairs with `received_ns`."""

    @property
    def ok(self) -> bool:
        """At least one message, all values right, ended by the client."""
        return self.error is None

    @property
    def pipelined(self) -> int:
        """Messages that came without waiting for the answer before them; 0 for a true ping-pong."""
        return self.messages - len(self.received_ns)

    @property
    def turnaround_us(self) -> list[float]:
        """Turnaround of each arrival in microseconds."""
        return [(sent - got) / 1000 for got, sent in zip(self.received_ns, self.sent_ns, strict=True)]

    @property
    def turnaround(self) -> Turnaround | None:
        """Summary of `turnaround_us`."""
        return Turnaround.of(self.turnaround_us)

    def line(self) -> str:
        """The record as one line for a person."""
        words = [
            self.started_utc.isoformat(timespec="milliseconds"),
            self.peer,
            "ok" if self.ok else "bad",
            f"messages={self.messages}",
            f"bytes={self.received_bytes}",
            f"seconds={self.duration_s:.3f}",
        ]
        if turnaround := self.turnaround:
            words.append(f"turnaround_us={turnaround.median_us:.1f} (p99 {turnaround.p99_us:.1f})")
        if self.pipelined:
            words.append(f"pipelined={self.pipelined}")
        if self.report is not None:
            words.append("report=yes")
        if self.error is not None:
            words.append(f"error: {self.error}")
        return " ".join(words)
