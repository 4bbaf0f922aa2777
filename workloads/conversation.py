"""The PC's part in a workload, as objects without I/O: bytes in, bytes out.

Real sockets, the simulated LAN and Blinka's LAN all drive the same objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from portbench.errors import PortbenchError

FRAME_BYTES: Final = 1472
"""The most data of a ping or a datagram that fits into one Ethernet frame."""


@dataclass(frozen=True)
class PingPlan:
    """`count` requests with each of `sizes` bytes of data, one size after the other.

    A request goes every `interval_us`, answered or not, like those of `ping -i`. The wait for the last answer is
    `wait_us`.
    """

    sizes: tuple[int, ...]
    count: int
    interval_us: int
    wait_us: int

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """The time of each request, from the first on, and its size."""
        for number in range(len(self.sizes) * self.count):
            yield float(number * self.interval_us), self.sizes[number // self.count]

    @property
    def lasts_us(self) -> float:
        """The time from the first request until the last is given up."""
        return float((len(self.sizes) * self.count - 1) * self.interval_us + self.wait_us)


@dataclass(frozen=True)
class Ping:
    """One request; `round_trip_us` is None without an answer."""

    data_bytes: int
    round_trip_us: float | None


@dataclass(frozen=True)
class NetworkFault:
    """A fault that the PC causes in the board's network.

    `reset` resets the connection. `restart` also refuses new connections for `lasts_us`. `cable` unplugs the cable for
    `lasts_us`; the connection stays.
    """

    kind: Literal["reset", "restart", "cable"]
    lasts_us: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.lasts_us / 1e6:g} s" if self.lasts_us else self.kind


class ConversationError(PortbenchError):
    """The board broke the protocol: one line with the expected and the received data.

    `answer` holds the answer to the complete exchanges before the fault, in the same `receive`.
    """

    def __init__(self, text: str, answer: bytes = b"") -> None:
        super().__init__(text)
        self.answer = answer


class Conversation(ABC):
    """The PC's side of one TCP connection, opened by either side. After a fault or the end every call raises."""

    exchanges: int = 0
    """Complete exchanges so far, each with its answer. Idle limits count from the last."""
    report: dict[str, Any] | None = None
    """The report of a client without a console."""
    finished: bool = False
    """The PC closes the connection after sending the bytes that `receive` has just returned."""

    pings: PingPlan | None = None
    """The pings that the PC should send. `receive` may set it, once in a conversation."""

    listening: str | None = None
    """The line with which a client without a console announced its port."""

    network_fault: NetworkFault | None = None
    """The fault that the PC should cause. `receive` may set it, once in a conversation."""

    def opened(self) -> bytes:
        """The bytes that the PC sends when the connection is open; none by default."""
        return b""

    @abstractmethod
    def receive(self, data: bytes) -> bytes:
        """Take received bytes, cut anywhere, and return the answer, which may be empty. Raises ConversationError."""

    def pinged(self) -> bytes:
        """The bytes that the PC sends after all `pings` are answered or given up."""
        return b""

    @abstractmethod
    def eof(self) -> None:
        """Note that the board has closed. Raises ConversationError if an exchange or report is incomplete."""


class Datagrams(ABC):
    """The PC's UDP port during a run. It has the number of the TCP server's port."""

    @abstractmethod
    def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
        """The answers to `peer` (`address:port`), each with its delay in us after the PC's turnaround."""
