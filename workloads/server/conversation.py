"""The PC's side of the ping-pong where the board is the server: it says 1, and each number that comes plus one."""

from __future__ import annotations

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.report import shown


class Asks(Conversation):
    """An exchange is a number of the PC's and its answer; after `messages` of them the PC closes."""

    def __init__(self, messages: int) -> None:
        self._messages = messages
        self._came = b""

    def opened(self) -> bytes:
        return b"1"

    def receive(self, data: bytes) -> bytes:
        expected = b"%d" % (2 * self.exchanges + 2)
        self._came += data
        if not expected.startswith(self._came):
            raise ConversationError(f"answer {self.exchanges + 1} must be {expected.decode()}, not {shown(self._came)}")
        if self._came != expected:
            return b""
        self._came = b""
        self.exchanges += 1
        self.finished = self.exchanges == self._messages
        return b"" if self.finished else b"%d" % (2 * self.exchanges + 1)

    def eof(self) -> None:
        if not self.finished:
            raise ConversationError(f"the board closed after {self.exchanges} of {self._messages} messages")
