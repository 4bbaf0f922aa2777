"""The PC's side of each connection: it says `ok` to `hi`, and does what else it is told.

`close`: it closes. `reset`: it resets the connection. `restart MS`: so it does, and refuses all others for so long.
`cable MS`: it takes the cable out for so long. Each on a line.
"""

from __future__ import annotations

import re
from typing import Final, Literal, cast

from portbench.workloads import Conversation, ConversationError, NetworkFault
from portbench.workloads.report import shown

_LONGEST_LINE: Final = 20
_DISTURBS: Final = re.compile(rb"(reset|restart|cable)(?: ([0-9]{1,5}))?")


class Obeys(Conversation):
    """An exchange is a line and its answer, where it has one."""

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
            raise ConversationError(f"the board said {shown(bytes(self._line))}, which is no line", said)
        return said

    def eof(self) -> None:
        """A board may end a connection when it likes, and within a line where something went wrong with it."""

    def _obey(self, line: bytes) -> bytes:
        self.exchanges += 1
        if line == b"hi":
            return b"ok"
        if line == b"close":
            self.finished = True
            return b""
        found = _DISTURBS.fullmatch(line)
        if found is None or (found[1] == b"reset") is not (found[2] is None):
            raise ConversationError(f"the board said {shown(line)}, which nobody obeys")
        kind = cast(Literal["reset", "restart", "cable"], found[1].decode())
        self.network_fault = NetworkFault(kind, float(found[2] or 0) * 1000)
        return b""
