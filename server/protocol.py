"""The PC side of the ping-pong as an object without I/O, see docs/architecture.md, "The protocol".

The TCP server and the simulated LAN both drive it.
"""

from __future__ import annotations

import json
from typing import Any, Final

MAX_REPORT_BYTES: Final = 1 << 20
_SHOWN_BYTES: Final = 24


class ProtocolError(Exception):
    """The client sent something that the protocol does not have: one line with what was expected and what came.

    `answer` holds the bytes due for the messages that came whole before the fault, in the same `receive`.
    """

    def __init__(self, text: str, answer: bytes = b"") -> None:
        super().__init__(text)
        self.answer = answer


class PingPong:
    """One client's session.

    Because both sides know the next value, the answers do not depend on how TCP cuts the stream: a number in two
    segments waits for its rest, two numbers in one segment get two answers. After a fault or the end every call raises.
    """

    def __init__(self, *, max_report_bytes: int = MAX_REPORT_BYTES) -> None:
        self.messages = 0
        """Messages answered so far."""
        self.report: dict[str, Any] | None = None
        """What the client reported after its last answer, if it did."""
        self._max_report_bytes = max_report_bytes
        self._expected = b"1"
        self._pending = b""  # a proper prefix of the expected number
        self._line: bytearray | None = None  # the report, while it comes
        self._fault: str | None = None

    def receive(self, data: bytes) -> bytes:
        """Takes what came from the client, returns what to send (maybe nothing); raises `ProtocolError`."""
        self._check_usable()
        if data == self._expected and not self._pending and self._line is None and self.report is None:
            return self._answer()
        answers: list[bytes] = []
        rest = self._pending + data
        self._pending = b""
        while rest:
            if self._line is not None or self.report is not None or (rest[0] == 0x7B and self.messages):
                self._receive_report(rest, answers)
                break
            if rest.startswith(self._expected):
                rest = rest[len(self._expected) :]
                answers.append(self._answer())
            elif self._expected.startswith(rest):
                self._pending = rest
                break
            else:
                self._fail(
                    f"message {self.messages + 1} must be {self._expected.decode()}, not {_shown(rest)}", answers
                )
        return b"".join(answers)

    def eof(self) -> None:
        """The client has closed; raises `ProtocolError` where it had not finished what it began."""
        self._check_usable()
        if self._line is not None:
            self._fail(f"the client closed within its report, after {len(self._line)} bytes of it")
        if self._pending:
            self._fail(f"the client closed within message {self.messages + 1}, after {_shown(self._pending)}")
        if not self.messages:
            self._fail("the client closed without a message")
        self._fault = "the session has ended"

    def _answer(self) -> bytes:
        self.messages += 1
        answer = b"%d" % (2 * self.messages)
        self._expected = b"%d" % (2 * self.messages + 1)
        return answer

    def _receive_report(self, data: bytes, answers: list[bytes]) -> None:
        if self.report is not None:
            self._fail(f"{_shown(data)} follows the report", answers)
        if self._line is None:
            self._line = bytearray()
        line, newline, rest = data.partition(b"\n")
        if len(self._line) + len(line) > self._max_report_bytes:
            self._fail(f"the report is longer than {self._max_report_bytes} bytes", answers)
        self._line += line
        if not newline:
            return
        try:
            report = json.loads(self._line.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
            self._fail(f"the report is not JSON ({reason}): {_shown(bytes(self._line))}", answers)
        self._line = None
        if not isinstance(report, dict):  # "{" came first, so this cannot be anything else
            self._fail("the report is not a JSON object", answers)
        self.report = report
        if rest:
            self._fail(f"{_shown(rest)} follows the report", answers)

    def _check_usable(self) -> None:
        if self._fault is not None:
            raise ProtocolError(self._fault)

    def _fail(self, text: str, answers: list[bytes] | None = None) -> Any:
        self._fault = text
        raise ProtocolError(text, b"".join(answers or []))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _shown(data: bytes) -> str:
    """`data` for messages: printable and short."""
    more = len(data) - _SHOWN_BYTES
    return f"{data[:_SHOWN_BYTES]!r}" + (f" and {more} bytes more" if more > 0 else "")
