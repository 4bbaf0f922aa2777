"""The PC's side of a connection on which the board asks for pings, and hears when they are over.

The board says `ping SIZES COUNT INTERVAL_MS`, such as `ping 56,1300 100 103`, and gets `done` at the end. A client
without a console sends its report after that.
"""

from __future__ import annotations

import re
from typing import Final

from portbench.workloads import ConversationError, PingPlan
from portbench.workloads.conversation import FRAME_BYTES
from portbench.workloads.report import ReportedConversation, shown

DONE: Final = b"done"
MOST_SIZES: Final = 8
MOST_COUNT: Final = 1000
MOST_INTERVAL_MS: Final = 10_000
WAIT_US: Final = 1_000_000
"""Wait for the answer to the last request."""
_LONGEST_LINE: Final = 80
_LINE: Final = re.compile(rb"ping ([0-9]{1,4}(?:,[0-9]{1,4})*) ([0-9]{1,4}) ([0-9]{1,5})")


class PingsOnDemand(ReportedConversation):
    """The one exchange is the board's request and the PC's `done`."""

    def __init__(self, max_report_bytes: int) -> None:
        super().__init__(max_report_bytes)
        self._line = bytearray()
        self._over = False

    def receive(self, data: bytes) -> bytes:
        if self._over:
            self.receive_report(data, "the end")
        elif self.pings is not None:
            raise ConversationError(f"the board said {shown(data)} while it was pinged")
        else:
            self._line += data
            if len(self._line) > _LONGEST_LINE or b"\n" in self._line:
                self.pings = _plan(bytes(self._line))
                self.exchanges = 1
        return b""

    def pinged(self) -> bytes:
        self._over = True
        return DONE

    def eof(self) -> None:
        if not self._over:
            raise ConversationError("the board closed before its pings were over")
        super().eof()


def _plan(line: bytes) -> PingPlan:
    found = _LINE.fullmatch(line.removesuffix(b"\n"))
    if found is not None:
        sizes = tuple(map(int, found[1].split(b",")))
        count, interval_ms = int(found[2]), int(found[3])
        fits = len(sizes) <= MOST_SIZES and max(sizes) <= FRAME_BYTES
        if fits and 1 <= count <= MOST_COUNT and 1 <= interval_ms <= MOST_INTERVAL_MS:
            return PingPlan(sizes, count, interval_ms * 1000, WAIT_US)
    raise ConversationError(f"the board said {shown(line)}, which is not a valid request for pings")
