"""The workload's server on the simulated PC: the same conversations as the real server's, driven by the LAN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from portbench.server.recording import Recording
from portbench.workloads import Conversation, NetworkFault, Session

Reply = tuple[bytes, bool, bool, float | None]
"""What to send, whether to close then, whether to reset instead, and in how many us to connect again."""
NOTHING: Final[Reply] = (b"", False, False, None)
RESET: Final[Reply] = (b"", False, True, None)


class SimulatedServer:
    """Serves every connection of one port; keeps a record of each. Times are simulated microseconds.

    `conversation`: makes the PC's side of a new connection; None: connections are reset. `turnaround_us`: from
    received data to the handover of the answer.
    """

    def __init__(self, conversation: Callable[[], Conversation] | None = None, turnaround_us: float = 0.0) -> None:
        self.conversation = conversation
        self.limit: int | None = None
        """Exchanges of a run whose end only the PC can tell."""
        self._turnaround_us = turnaround_us
        self._killed = False
        self.answered = 0
        """Exchanges of all connections together."""
        self._open: dict[int, Recording] = {}
        self._records: dict[int, Recording] = {}
        self._pinging: dict[int, Recording] = {}
        self.announcement: tuple[str, float] | None = None
        """The line by which a client told where it waits for the PC, and when."""
        self.injects_faults = False
        """Carries out the `NetworkFault` that a conversation asks for."""
        self.network_fault: tuple[NetworkFault, float] | None = None
        """What the last one asked for, and when."""
        self.last_us: float | None = None
        """When a board was last heard of."""

    def accept(self, conn: int, peer: str, now_us: float) -> Reply:
        self.last_us = now_us
        if self.conversation is None:
            return NOTHING
        recording = Recording(len(self._records), peer, now_us, self.conversation(), self.limit)
        self._open[conn] = self._records[conn] = recording
        return recording.established(now_us, handover_us=self._turnaround_us), False, False, None

    def receive(self, conn: int, data: bytes, now_us: float) -> Reply:
        self.last_us = now_us
        if self._killed:
            self.closed(conn, False, now_us)
            return RESET
        if conn not in self._records:
            return RESET
        recording = self._open.get(conn)
        if recording is None:
            return NOTHING
        before = recording.exchanges
        answer = recording.receive(data, now_us)
        if recording.pings_asked_us == now_us:
            self._pinging[conn] = recording
        if recording.listening is not None and recording.announced_us == now_us:
            self.announcement = (recording.listening, now_us)
        self.answered += recording.exchanges - before
        if recording.network_fault is not None and recording.error is None:
            return self._inject(conn, recording, recording.network_fault, answer, now_us)
        if recording.error is None and not recording.finished:
            return answer, False, False, None
        del self._open[conn]
        return answer, True, False, None

    def _inject(self, conn: int, recording: Recording, fault: NetworkFault, answer: bytes, now_us: float) -> Reply:
        if fault.kind != "reset" and not self.injects_faults:
            recording.error = f"this PC cannot cause this network fault: {fault}"
        elif self.network_fault is None:
            self.network_fault = (fault, now_us)
        if fault.kind == "cable" and recording.error is None:
            recording.fault_begun()
            return answer, False, False, None
        del self._open[conn]
        recording.ended(now_us)
        return RESET

    def closed(self, conn: int, reset: bool, now_us: float) -> Reply:
        if conn in self._records:
            self._records[conn].ended(now_us)
        if recording := self._open.pop(conn, None):
            if reset:
                recording.lost("reset")
            else:
                recording.eof(now_us)
        return NOTHING

    def pinging(self) -> list[tuple[int, Recording]]:
        """Connections whose client is to be pinged, by their numbers."""
        return list(self._pinging.items())

    def pinged(self, conn: int) -> None:
        """That of `conn` has been."""
        self._pinging.pop(conn, None)

    def kill(self) -> None:
        """The server's process is gone: its connections are reset from now on."""
        self._killed = True

    def sessions(self) -> list[Session]:
        """One per connection so far, in the order in which they came."""
        return [recording.session() for recording in self._records.values()]

    @property
    def whole(self) -> bool:
        """A connection has had all exchanges of a run with a limit."""
        return any(recording.whole for recording in self._records.values())

    @property
    def reports(self) -> int:
        """How many clients have sent their report."""
        return sum(recording.reported for recording in self._records.values())
