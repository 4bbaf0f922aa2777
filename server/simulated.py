"""The workload's server on the simulated PC: the LAN drives the same conversations as the real server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from portbench.server.recording import Recording
from portbench.workloads import Conversation, NetworkFault, Session

Reply = tuple[bytes, bool, bool, float | None]
"""Bytes to send; close after them; reset instead; microseconds until the next connection."""
NOTHING: Final[Reply] = (b"", False, False, None)
RESET: Final[Reply] = (b"", False, True, None)


class SimulatedServer:
    """Serves all connections of one port, and records each. Times are simulated microseconds.

    `conversation` makes the PC's side of a new connection; None resets connections. `turnaround_us`: from received
    data to the handover of the answer.
    """

    def __init__(self, conversation: Callable[[], Conversation] | None = None, turnaround_us: float = 0.0) -> None:
        self.conversation = conversation
        self.limit: int | None = None
        """The number of exchanges of a run that only the PC can end."""
        self._turnaround_us = turnaround_us
        self._killed = False
        self.answered = 0
        """Exchanges of all connections together."""
        self._open: dict[int, Recording] = {}
        self._records: dict[int, Recording] = {}
        self._pinging: dict[int, Recording] = {}
        self.announcement: tuple[str, float] | None = None
        """The last announcement of a listening client, and its time."""
        self.injects_faults = False
        """This server can cause the network faults that conversations request."""
        self.network_fault: tuple[NetworkFault, float] | None = None
        """The first requested fault, and its time."""
        self.last_us: float | None = None
        """When the last packet of a board came."""

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
        """The connections that wait for pings, by number."""
        return list(self._pinging.items())

    def pinged(self, conn: int) -> None:
        """Note that all pings of `conn` are over."""
        self._pinging.pop(conn, None)

    def kill(self) -> None:
        """End the server's process: from now on its connections are reset."""
        self._killed = True

    def sessions(self) -> list[Session]:
        """The sessions of all connections so far, in order."""
        return [recording.session() for recording in self._records.values()]

    @property
    def whole(self) -> bool:
        """One connection has completed all exchanges of a limited run."""
        return any(recording.whole for recording in self._records.values())

    @property
    def reports(self) -> int:
        """Number of received reports."""
        return sum(recording.reported for recording in self._records.values())
