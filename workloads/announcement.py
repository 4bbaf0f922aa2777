"""The PC's side of the connection of a client that listens and has no console to say so on.

It says what others print, `PORTBENCH-LISTENING {"address": ..., "port": ...}`, and at the end sends its report.
"""

from __future__ import annotations

from typing import Final

from portbench.workloads.conversation import Conversation, ConversationError
from portbench.workloads.report import LastReport, shown

LISTENING_PREFIX: Final = "PORTBENCH-LISTENING "
_FIRST: Final = LISTENING_PREFIX.encode()
_LONGEST: Final = 120


class Announcement(Conversation):
    """No exchange of the workload's: those are on connections that the PC opens."""

    def __init__(self, max_report_bytes: int) -> None:
        self._line = b""
        self._report = LastReport(max_report_bytes)

    def receive(self, data: bytes) -> bytes:
        if self.listening is None:
            data = self._announced(data)
        if data:
            self._report.receive(data, "it told where it listens")
            self.report = self._report.report
        return b""

    def eof(self) -> None:
        if self.listening is None:
            raise ConversationError("the board closed before it told where it listens")
        self._report.eof()

    def _announced(self, data: bytes) -> bytes:
        """What follows the line."""
        self._line += data
        line, newline, rest = self._line.partition(b"\n")
        if len(line) > _LONGEST or not (line.startswith(_FIRST) or _FIRST.startswith(line)):
            raise ConversationError(f"the board said {shown(self._line)}, not where it listens")
        if not newline:
            return b""
        self.listening = line.decode("ascii", "replace")
        return rest
