"""The PC's side of a connection on which the board says that it is ready, and hears that the PC has heard it."""

from __future__ import annotations

from typing import Any, Final

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.report import FIRST_BYTE, ReportLine, shown

READY: Final = b"ready\n"
HEARD: Final = b"ok"


class HearsReady(Conversation):
    """One exchange. A client without a console sends its report after it."""

    def __init__(self, max_report_bytes: int) -> None:
        self._came = b""
        self._report = ReportLine(max_report_bytes)
        self.report: dict[str, Any] | None = None

    def receive(self, data: bytes) -> bytes:
        if self.exchanges:
            self._reported(data)
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
        if self._report.begun_bytes and self.report is None:
            raise ConversationError("the board closed within its report")

    def _reported(self, data: bytes) -> None:
        if self.report is not None or (not self._report.begun_bytes and data[0] != FIRST_BYTE):
            raise ConversationError(f"the board said {shown(data)} after it was ready")
        if (found := self._report.receive(data)) is not None:
            self.report, rest = found
            if rest:
                raise ConversationError(f"{shown(rest)} follows the report")
