"""The PC's side of a connection on which the board says that it is ready, and hears that the PC has heard it."""

from __future__ import annotations

from typing import Final

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.report import LastReport, shown

READY: Final = b"ready\n"
HEARD: Final = b"ok"


class HearsReady(Conversation):
    """One exchange. A client without a console sends its report after it."""

    def __init__(self, max_report_bytes: int) -> None:
        self._came = b""
        self._report = LastReport(max_report_bytes)

    def receive(self, data: bytes) -> bytes:
        if self.exchanges:
            self._report.receive(data, "it was ready")
            self.report = self._report.report
            return b""
        self._came += data
        if not READY.startswith(self._came):
            raise ConversationError(f"the board said {shown(self._came)}, not ready")
        if self._came != READY:
            return b""
        self.exchanges = 1
        return HEARD

    def eof(self) -> None:
        if not self.exchanges:
            raise ConversationError("the board closed before it was ready")
        self._report.eof()
