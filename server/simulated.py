"""The workload's server on the simulated PC: the same conversations as the real server's, driven by the LAN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from portbench.server.recording import Recording
from portbench.server.records import Session
from portbench.workloads import Conversation, workload

MAX_BYTES: Final = 1 << 20
"""Kept of one connection."""


class SimulatedServer:
    """Serves every connection of one port; keeps a record of each. Times are simulated microseconds.

    `conversation`: makes the PC's side of a new connection; None: whoever connects is reset.
    """

    def __init__(self, conversation: Callable[[], Conversation] | None = None) -> None:
        self.conversation = conversation
        self._killed = False
        self.answered = 0
        """Exchanges of all connections together."""
        self._open: dict[int, Recording] = {}
        self._records: dict[int, Recording] = {}

    def accept(self, conn: int, peer: str, now_us: float) -> None:
        if self.conversation is not None:
            self._open[conn] = self._records[conn] = Recording(len(self._records), peer, now_us, self.conversation())

    def receive(self, conn: int, data: bytes, now_us: float) -> tuple[bytes, bool, bool]:
        """What to send, whether to close then, whether to reset instead."""
        if self._killed:
            self.closed(conn, now_us)
            return b"", False, True
        if conn not in self._records:
            return b"", False, True
        recording = self._open.get(conn)
        if recording is None:
            return b"", False, False
        before = recording.exchanges
        answer = recording.receive(data, now_us)
        self.answered += recording.exchanges - before
        if recording.error is not None:
            del self._open[conn]
            return answer, True, False
        return answer, False, False

    def closed(self, conn: int, now_us: float) -> None:
        if conn in self._records:
            self._records[conn].ended(now_us)
        if recording := self._open.pop(conn, None):
            recording.eof()

    def kill(self) -> None:
        """The server's process is gone: whoever sends to it is reset from now on."""
        self._killed = True

    def sessions(self) -> list[Session]:
        """One per connection so far, in the order in which they came."""
        return [recording.session() for recording in self._records.values()]

    @property
    def reported(self) -> bool:
        """A client has sent its report."""
        return any(recording.reported for recording in self._records.values())


def serve(name: str) -> Callable[[], Conversation]:
    """What makes the PC's side of a connection of the workload `name`. Raises UnknownWorkload."""
    found = workload(name)
    return lambda: found.conversation(MAX_BYTES)
