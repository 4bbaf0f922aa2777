"""The PC's part in a workload, as objects without I/O: bytes in, bytes out.

Real sockets, the simulated LAN and Blinka's LAN all drive the same objects. A client without a console sends two lines
to the PC: where it listens, and its report at the end. A report is one JSON object on one line, sent after the last
exchange.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

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


class Line(Protocol):
    """The PC's means to act on a connection by itself, outside an answer."""

    def send(self, data: bytes, after_us: float) -> None:
        """Send `data` so many microseconds after the PC's turnaround; the simulated PC needs 10 ms at least."""

    def close(self) -> None:
        """Close the connection as soon as all is sent."""


class Conversation(ABC):
    """The PC's side of one TCP connection, opened by either side. After a fault or the end every call raises."""

    line: Line | None = None
    """Set by the driver before `opened`."""
    silence_us: float | None = None
    """The PC closes the connection after the board has been silent for so long. `receive` may set it."""

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

    def lost(self) -> None:
        """Note that the connection is over without an end by the board: reset, or closed for its silence."""
        return


class Datagrams(ABC):
    """The PC's UDP port during a run. It has the number of the TCP server's port."""

    @abstractmethod
    def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
        """The answers to `peer` (`address:port`), each with its delay in us after the PC's turnaround."""


@dataclass(frozen=True)
class Requests:
    """The datagrams by which the PC calls a board: `count` times `payload` to its UDP `port`, one after the other."""

    port: int
    payload: bytes
    count: int


LISTENING_PREFIX: Final = "PORTBENCH-LISTENING "
"""Begins the line `PORTBENCH-LISTENING {"address": ..., "port": ...}` of a client that listens."""
FIRST_BYTE: Final = 0x7B
"""`{`, which begins a report."""
MAX_REPORT_BYTES: Final = 1 << 20
_LISTENING: Final = LISTENING_PREFIX.encode()
_LONGEST_LISTENING_LINE: Final = 120
_SHOWN_BYTES: Final = 24


class ReportedConversation(Conversation):
    """A conversation after which a client without a console sends its report on the same connection."""

    def __init__(self, max_report_bytes: int = MAX_REPORT_BYTES) -> None:
        self._max_report_bytes = max_report_bytes
        self._report_line = bytearray()

    def receive_report(self, data: bytes, after: str) -> None:
        """Take the bytes `after` the last exchange. Raises ConversationError for anything but one report."""
        if self.report is not None or (not self._report_line and data[0] != FIRST_BYTE):
            raise ConversationError(f"the board said {shown(data)} after {after}")
        line, newline, rest = data.partition(b"\n")
        if len(self._report_line) + len(line) > self._max_report_bytes:
            raise ConversationError(f"the report is longer than {self._max_report_bytes} bytes")
        self._report_line += line
        if not newline:
            return
        try:
            self.report = json.loads(self._report_line.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
            raise ConversationError(f"the report is not JSON ({reason}): {shown(bytes(self._report_line))}") from error
        if rest:
            raise ConversationError(f"{shown(rest)} follows the report")

    def eof(self) -> None:
        if self._report_line and self.report is None:
            raise ConversationError(f"the board closed within its report, after {len(self._report_line)} bytes of it")


class Hears(ReportedConversation):
    """The connection on which the board says one `word`, and the PC says `answer`: the one exchange."""

    def __init__(self, word: bytes, answer: bytes = b"") -> None:
        super().__init__()
        self._word = word
        self._answer = answer
        self._came = b""

    def receive(self, data: bytes) -> bytes:
        if self.exchanges:
            self.receive_report(data, f"it was {self._name}")
            return b""
        self._came += data
        said, rest = self._came[: len(self._word)], self._came[len(self._word) :]
        if not self._word.startswith(said) or (rest and self._answer):  # which the board has to wait for
            raise ConversationError(f"the board said {shown(self._came)}, not {self._name}")
        if said != self._word:
            return b""
        self.exchanges = 1
        if rest:
            self.receive_report(rest, f"it was {self._name}")
        return self._answer

    def eof(self) -> None:
        if not self.exchanges:
            raise ConversationError(f"the board closed before it was {self._name}")
        super().eof()

    @property
    def _name(self) -> str:
        return self._word.decode().strip()


class ClientReport(ReportedConversation):
    """The connection on which a client without a console reports its address, if it listens, and its result.

    The exchanges use other connections. A client that failed before it was connected begins with the message 1.
    """

    def __init__(self, max_report_bytes: int) -> None:
        super().__init__(max_report_bytes)
        self._line = b""
        self._begun = False

    def receive(self, data: bytes) -> bytes:
        if not self._begun and not self._line:
            self._begun = data == b"1" or data[0] == FIRST_BYTE
            if data == b"1":
                self.exchanges = 1
                return b"2"
        if not self._begun:
            data = self._announced(data)
        if data:
            self.receive_report(data, "its first line")
        return b""

    def eof(self) -> None:
        super().eof()
        if self.listening is None and self.report is None:
            raise ConversationError("the board closed before it reported an address or a result")

    def _announced(self, data: bytes) -> bytes:
        """The bytes after the line."""
        self._line += data
        line, newline, rest = self._line.partition(b"\n")
        if len(line) > _LONGEST_LISTENING_LINE or not (line.startswith(_LISTENING) or _LISTENING.startswith(line)):
            raise ConversationError(f"the board said {shown(self._line)}, not where it listens")
        if not newline:
            return b""
        self.listening, self._begun = line.decode("ascii", "replace"), True
        return rest


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def shown(data: bytes) -> str:
    """`data` for messages: printable and short."""
    more = len(data) - _SHOWN_BYTES
    return f"{data[:_SHOWN_BYTES]!r}" + (f" and {more} bytes more" if more > 0 else "")
