"""The PC's side of the connection that the board keeps open: it says `over` at the end.

A client without a console sends its report after that.
"""

from __future__ import annotations

from typing import Final

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.report import LastReport, shown

OVER: Final = b"over\n"


class HearsTheEnd(Conversation):
    """One exchange, without an answer."""

    def __init__(self) -> None:
        self._came = b""
        self._report = LastReport()

    def receive(self, data: bytes) -> bytes:
        if not self.exchanges:
            data = self._until_over(data)
        if data:
            self._report.receive(data, "it was over")
            self.report = self._report.report
        return b""

    def _until_over(self, data: bytes) -> bytes:
        """What follows the end."""
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
        self._report.eof()
