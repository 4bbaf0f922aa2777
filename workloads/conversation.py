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
    """`count` requests of each of `sizes` bytes of data, one size after the other.

    A request goes every `interval_us`, answered or not, as `ping -i` sends them; the last has `wait_us` for its answer.
    """

    sizes: tuple[int, ...]
    count: int
    interval_us: int
    wait_us: int

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """When each goes, after the first, and its size."""
        for number in range(len(self.sizes) * self.count):
            yield float(number * self.interval_us), self.sizes[number // self.count]

    @property
    def lasts_us(self) -> float:
        """From the first request to when the last is given up."""
        return float((len(self.sizes) * self.count - 1) * self.interval_us + self.wait_us)


@dataclass(frozen=True)
class Ping:
    """One request. `round_trip_us` None: no answer came."""

    data_bytes: int
    round_trip_us: float | None


@dataclass(frozen=True)
class NetworkFault:
    """`reset`: the connection is reset at once. `restart`: so it is, and the server refuses connections for a time.
    `cable`: the cable is out for a time, and the connection stays."""

    kind: Literal["reset", "restart", "cable"]
    lasts_us: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.lasts_us / 1e6:g} s" if self.lasts_us else self.kind


class ConversationError(PortbenchError):
    """The board sent something that the workload does not have: one line with the expected and the received data.

    `answer` holds the answer to the complete exchanges before the fault, in the same `receive`.
    """

    def __init__(self, text: str, answer: bytes = b"") -> None:
        super().__init__(text)
        self.answer = answer


class Conversation(ABC):
    """One connection, from its opening to its end. After a fault or the end every call raises."""

    exchanges: int = 0
    """Whole exchanges so far: something came, and its answer was given. Idle limits count from the last."""
    report: dict[str, Any] | None = None
    """What a client without a console told of itself at the end."""
    finished: bool = False
    """The PC closes the connection once it has sent what `receive` has just returned."""

    pings: PingPlan | None = None
    """The pings that the PC sends once this is set, as a call of `receive` may do; once in a conversation."""

    listening: str | None = None
    """The line by which a client without a console told where it waits for the PC."""

    network_fault: NetworkFault | None = None
    """What the PC does to the board's network once this is set, as a call of `receive` may do; once."""

    def opened(self) -> bytes:
        """The connection is open; what the PC says first (nothing unless a workload says so)."""
        return b""

    @abstractmethod
    def receive(self, data: bytes) -> bytes:
        """Takes received bytes, however TCP cut them; returns the answer (maybe empty). Raises ConversationError."""

    def pinged(self) -> bytes:
        """All of `pings` have been answered or given up; what to say then."""
        return b""

    @abstractmethod
    def eof(self) -> None:
        """The board has closed. Raises ConversationError where it had not finished what it began."""


class Datagrams(ABC):
    """From the start of a run to its end, in both directions. The port has the number of the TCP server's."""

    @abstractmethod
    def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
        """What goes back to `peer` (`address:port`), and how many us after the PC's turnaround each."""
