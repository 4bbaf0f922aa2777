"""The PC's part: datagrams, and the TCP connection that the board keeps open until it says `over`.

A datagram begins with a letter and the number of its transfer, a byte each. `u` belongs to a transfer up and is
counted. `q` asks for the count; the answer is `a`, the number and the count in three digits, sent ANSWERS times. `d`
asks for a transfer down by ` SIZE COUNT GAP_US` behind its number; the answers are COUNT datagrams `D` of SIZE bytes,
one every GAP_US, and then `e`, also of SIZE bytes, ANSWERS times.
"""

from __future__ import annotations

import re
from typing import Final

from portbench.workloads import ConversationError, Datagrams
from portbench.workloads.conversation import FRAME_BYTES
from portbench.workloads.report import ReportedConversation, shown

OVER: Final = b"over\n"
ANSWERS: Final = 3
"""How often to send an answer: one may be lost, and the board may have no time-outs."""
BETWEEN_US: Final = 20_000.0
LEAST_BYTES: Final = 2
MOST_COUNT: Final = 900
MOST_GAP_US: Final = 1_000_000
_PEERS: Final = 64
_ASKED: Final = re.compile(rb" ([0-9]{1,4}) ([0-9]{1,3}) ([0-9]{1,7})")


class Counted(Datagrams):
    """Of one run."""

    def __init__(self) -> None:
        self._up: dict[str, dict[int, int]] = {}

    def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
        peer = peer.rpartition(":")[0]  # a driver may take another port for each datagram
        if len(data) < LEAST_BYTES or (peer not in self._up and len(self._up) == _PEERS):
            return []
        kind, number = data[:1], data[1]
        counts = self._up.setdefault(peer, {})
        if kind == b"u":
            counts[number] = counts.get(number, 0) + 1
        elif kind == b"q":
            return _often(b"a%c%03d" % (number, min(counts.get(number, 0), MOST_COUNT)), 0.0)
        elif kind == b"d" and (found := _ASKED.fullmatch(data[2:])):
            return _stream(number, int(found[1]), int(found[2]), int(found[3]))
        return []


def _stream(number: int, size: int, count: int, gap_us: int) -> list[tuple[float, bytes]]:
    if not (LEAST_BYTES <= size <= FRAME_BYTES and 1 <= count <= MOST_COUNT and gap_us <= MOST_GAP_US):
        return []
    rest = bytes(size - 2)
    stream = [(float(index * gap_us), b"D%c" % number + rest) for index in range(count)]
    return stream + _often(b"e%c" % number + rest, float(count * gap_us))


def _often(data: bytes, after_us: float) -> list[tuple[float, bytes]]:
    return [(after_us + (number + 1) * BETWEEN_US, data) for number in range(ANSWERS)]


class HearsTheEnd(ReportedConversation):
    """One exchange without an answer. A client without a console then sends its report."""

    def __init__(self) -> None:
        super().__init__()
        self._came = b""

    def receive(self, data: bytes) -> bytes:
        if not self.exchanges:
            data = self._until_over(data)
        if data:
            self.receive_report(data, "it was over")
        return b""

    def _until_over(self, data: bytes) -> bytes:
        """The bytes after the end."""
        self._came += data
        if not (OVER.startswith(self._came) or self._came.startswith(OVER)):
            raise ConversationError(f"the board said {shown(self._came)}, not over")
        if not self._came.startswith(OVER):
            return b""
        self.exchanges = 1
        return self._came[len(OVER) :]

    def eof(self) -> None:
        if not self.exchanges:
            raise ConversationError("the board closed before it was over")
        super().eof()
