"""The PC's side of each connection: it obeys the board's lines.

`hi`: answer `ok`. `close`: close. `reset`: reset the connection. `restart MS`: reset it, and refuse all others for so
long. `cable MS`: unplug the cable for so long.
"""

from __future__ import annotations

import re
from typing import Final, Literal, cast

from portbench.workloads import Conversation, ConversationError, NetworkFault
from portbench.workloads.report import shown

_LONGEST_LINE: Final = 20
_DISTURBS: Final = re.compile(rb"(reset|restart|cable)(?: ([0-9]{1,5}))?")


class Obeys(Conversation):
    """An exchange is a line, with its answer if it has one."""

    def __init__(self) -> None:
        self._line = bytearray()

    def receive(self, data: bytes) -> bytes:
        self._line += data
        said = b""
        while b"\n" in self._line:
            line, _, rest = bytes(self._line).partition(b"\n")
            self._line = bytearray(rest)
            said += self._obey(line)
        if len(self._line) > _LONGEST_LINE:
            raise ConversationError(f"the board said {shown(bytes(self._line))}, which is too long for a line", said)
        return said

    def eof(self) -> None:
        """Accept the end at any time: a failing board may even stop within a line."""

    def _obey(self, line: bytes) -> bytes:
        self.exchanges += 1
        if line == b"hi":
            return b"ok"
        if line == b"close":
            self.finished = True
            return b""
        found = _DISTURBS.fullmatch(line)
        if found is None or (found[1] == b"reset") is not (found[2] is None):
            raise ConversationError(f"the board said {shown(line)}, which is no command")
        kind = cast(Literal["reset", "restart", "cable"], found[1].decode())
        self.network_fault = NetworkFault(kind, float(found[2] or 0) * 1000)
        return b""
