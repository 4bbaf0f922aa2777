"""The lines that a client without a console sends to the PC: where it listens, and its report at the end.

A report is one JSON object on one line, sent after the last exchange.
"""

from __future__ import annotations

import json
from typing import Any, Final

from portbench.workloads.conversation import Conversation, ConversationError

LISTENING_PREFIX: Final = "PORTBENCH-LISTENING "
"""Begins the line `PORTBENCH-LISTENING {"address": ..., "port": ...}` of a client that listens."""
FIRST_BYTE: Final = 0x7B
"""`{`, which begins a report."""
MAX_REPORT_BYTES: Final = 1 << 20
_LISTENING: Final = LISTENING_PREFIX.encode()
_LONGEST_LISTENING_LINE: Final = 120
_SHOWN_BYTES: Final = 24


class ReportLine:
    """Collects a report however it arrives."""

    def __init__(self, max_bytes: int = MAX_REPORT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()

    @property
    def begun_bytes(self) -> int:
        """Received bytes of the report."""
        return len(self._line)

    def receive(self, data: bytes) -> tuple[dict[str, Any], bytes] | None:
        """The report and the bytes after it, once its line is complete. Raises ConversationError."""
        line, newline, rest = data.partition(b"\n")
        if len(self._line) + len(line) > self._max_bytes:
            raise ConversationError(f"the report is longer than {self._max_bytes} bytes")
        self._line += line
        if not newline:
            return None
        try:
            report = json.loads(self._line.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
            raise ConversationError(f"the report is not JSON ({reason}): {shown(bytes(self._line))}") from error
        if not isinstance(report, dict):
            raise ConversationError("the report is not a JSON object")
        return report, rest


class ReportedConversation(Conversation):
    """A conversation after which a client without a console sends its report on the same connection."""

    def __init__(self, max_report_bytes: int = MAX_REPORT_BYTES) -> None:
        self._report_line = ReportLine(max_report_bytes)

    def receive_report(self, data: bytes, after: str) -> None:
        """Take the bytes `after` the last exchange. Raises ConversationError for anything but one report."""
        if self.report is not None or (not self._report_line.begun_bytes and data[0] != FIRST_BYTE):
            raise ConversationError(f"the board said {shown(data)} after {after}")
        if (found := self._report_line.receive(data)) is not None:
            self.report, rest = found
            if rest:
                raise ConversationError(f"{shown(rest)} follows the report")

    def eof(self) -> None:
        if self._report_line.begun_bytes and self.report is None:
            raise ConversationError("the board closed within its report")


class Announcement(ReportedConversation):
    """The connection on which a client that listens announces its port; the exchanges use other connections."""

    def __init__(self, max_report_bytes: int) -> None:
        super().__init__(max_report_bytes)
        self._line = b""

    def receive(self, data: bytes) -> bytes:
        if self.listening is None:
            data = self._announced(data)
        if data:
            self.receive_report(data, "it told where it listens")
        return b""

    def eof(self) -> None:
        if self.listening is None:
            raise ConversationError("the board closed before it told where it listens")
        super().eof()

    def _announced(self, data: bytes) -> bytes:
        """The bytes after the line."""
        self._line += data
        line, newline, rest = self._line.partition(b"\n")
        if len(line) > _LONGEST_LISTENING_LINE or not (line.startswith(_LISTENING) or _LISTENING.startswith(line)):
            raise ConversationError(f"the board said {shown(self._line)}, not where it listens")
        if not newline:
            return b""
        self.listening = line.decode("ascii", "replace")
        return rest


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def shown(data: bytes) -> str:
    """`data` for messages: printable and short."""
    more = len(data) - _SHOWN_BYTES
    return f"{data[:_SHOWN_BYTES]!r}" + (f" and {more} bytes more" if more > 0 else "")
