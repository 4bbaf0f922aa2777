"""The report of a client without a console: one JSON object on one line, sent to the server after the last exchange."""

from __future__ import annotations

import json
from typing import Any, Final

from portbench.workloads.conversation import ConversationError

FIRST_BYTE: Final = 0x7B
"""`{`, which begins a report."""
MAX_REPORT_BYTES: Final = 1 << 20
_SHOWN_BYTES: Final = 24


class ReportLine:
    """Collects a report however it arrives."""

    def __init__(self, max_bytes: int = MAX_REPORT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()

    @property
    def begun_bytes(self) -> int:
        """Bytes of the report that have come."""
        return len(self._line)

    def receive(self, data: bytes) -> tuple[dict[str, Any], bytes] | None:
        """The report and what follows it, once its line is complete. Raises ConversationError."""
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


class LastReport:
    """A report behind everything else that a client says on its connection."""

    def __init__(self, max_bytes: int = MAX_REPORT_BYTES) -> None:
        self._line = ReportLine(max_bytes)
        self.report: dict[str, Any] | None = None

    def receive(self, data: bytes, after: str) -> None:
        """Takes the bytes `after` the last exchange. Raises ConversationError for anything but one report."""
        if self.report is not None or (not self._line.begun_bytes and data[0] != FIRST_BYTE):
            raise ConversationError(f"the board said {shown(data)} after {after}")
        if (found := self._line.receive(data)) is not None:
            self.report, rest = found
            if rest:
                raise ConversationError(f"{shown(rest)} follows the report")

    def eof(self) -> None:
        """The board has closed. Raises ConversationError within a report."""
        if self._line.begun_bytes and self.report is None:
            raise ConversationError("the board closed within its report")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def shown(data: bytes) -> str:
    """`data` for messages: printable and short."""
    more = len(data) - _SHOWN_BYTES
    return f"{data[:_SHOWN_BYTES]!r}" + (f" and {more} bytes more" if more > 0 else "")
