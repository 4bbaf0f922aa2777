"""The PC's side of the ping-pong: each side answers the received number plus one, in decimal ASCII. See the README."""

from __future__ import annotations

from typing import Any

from portbench.workloads.conversation import Conversation, ConversationError
from portbench.workloads.report import FIRST_BYTE, MAX_REPORT_BYTES, ReportLine, shown


class PingPong(Conversation):
    """One client's session.

    Because both sides know the next value, the answers do not depend on how TCP cuts the stream: a number in two
    segments waits for its rest, two numbers in one segment get two answers.
    """

    def __init__(self, *, max_report_bytes: int = MAX_REPORT_BYTES) -> None:
        self._max_report_bytes = max_report_bytes
        self._expected = b"1"
        self._pending = b""  # a proper prefix of the expected number
        self._line: ReportLine | None = None  # the report, while it comes
        self._fault: str | None = None

    def receive(self, data: bytes) -> bytes:
        self._check_usable()
        if data == self._expected and not self._pending and self._line is None and self.report is None:
            return self._answer()
        answers: list[bytes] = []
        rest = self._pending + data
        self._pending = b""
        while rest:
            if self._line is not None or self.report is not None or (rest[0] == FIRST_BYTE and self.exchanges):
                self._receive_report(rest, answers)
                break
            if rest.startswith(self._expected):
                rest = rest[len(self._expected) :]
                answers.append(self._answer())
            elif self._expected.startswith(rest):
                self._pending = rest
                break
            else:
                expected = self._expected.decode()
                self._fail(f"message {self.exchanges + 1} must be {expected}, not {shown(rest)}", answers)
        return b"".join(answers)

    def eof(self) -> None:
        self._check_usable()
        if self._line is not None:
            self._fail(f"the client closed within its report, after {self._line.begun_bytes} bytes of it")
        if self._pending:
            self._fail(f"the client closed within message {self.exchanges + 1}, after {shown(self._pending)}")
        if not self.exchanges:
            self._fail("the client closed without a message")
        self._fault = "the session has ended"

    def _answer(self) -> bytes:
        self.exchanges += 1
        answer = b"%d" % (2 * self.exchanges)
        self._expected = b"%d" % (2 * self.exchanges + 1)
        return answer

    def _receive_report(self, data: bytes, answers: list[bytes]) -> None:
        if self.report is not None:
            self._fail(f"{shown(data)} follows the report", answers)
        self._line = self._line or ReportLine(self._max_report_bytes)
        try:
            complete = self._line.receive(data)
        except ConversationError as error:
            self._fail(str(error), answers)
        if complete is None:
            return
        self._line = None
        self.report, rest = complete
        if rest:
            self._fail(f"{shown(rest)} follows the report", answers)

    def _check_usable(self) -> None:
        if self._fault is not None:
            raise ConversationError(self._fault)

    def _fail(self, text: str, answers: list[bytes] | None = None) -> Any:
        self._fault = text
        raise ConversationError(text, b"".join(answers or []))
