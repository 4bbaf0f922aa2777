"""The PC's side of the connection that the board has open meanwhile: it says `over` at the end."""

from __future__ import annotations

from typing import Final

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.report import shown

OVER: Final = b"over\n"


class HearsTheEnd(Conversation):
    """One exchange, without an answer."""

    def __init__(self) -> None:
        self._came = b""

    def receive(self, data: bytes) -> bytes:
        self._came += data
        if not OVER.startswith(self._came):
            raise ConversationError(f"the board said {shown(self._came)}, not over")
        if self._came == OVER:
            self.exchanges = 1
        return b""

    def eof(self) -> None:
        if not self.exchanges:
            raise ConversationError("the board closed before it was over")
