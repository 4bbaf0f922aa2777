"""The simulated PC's connections to a listening board, driven by the LAN."""

from collections.abc import Callable
from typing import Final, Protocol

from portbench.server.calls import RETRY_US, Calls, Listening
from portbench.server.recording import Recording
from portbench.server.tls.channel import Channel
from portbench.workloads import LoadGenerator

Reply = tuple[bytes, bool, bool, float | None]
"""Bytes to send; close after them; reset instead; microseconds until the next connection."""
NOTHING: Final[Reply] = (b"", False, False, None)
RESET: Final[Reply] = (b"", False, True, None)


class Line(Protocol):
    """The callbacks of the LAN for one connection."""

    def accept(self, conn: int, peer: str, now_us: float) -> Reply: ...
    def receive(self, conn: int, data: bytes, now_us: float) -> Reply: ...
    def closed(self, conn: int, reset: bool, now_us: float) -> Reply: ...


class CallingLan(Protocol):
    """The part of a simulated LAN that a load generator needs."""

    def connect(self, peer: str, app: Line, at_us: float) -> int: ...


class SimulatedLoadGenerator:
    """Opens the connections in simulated time.

    `turnaround_us`: from received data to the handover of the answer. `channel`: makes what encrypts a connection.
    """

    def __init__(self, load: LoadGenerator, turnaround_us: float, channel: Callable[[], Channel] | None = None) -> None:
        self.calls = Calls(load, channel=channel)
        self.turnaround_us = turnaround_us
        self.killed = False
        self._listening: Listening | None = None

    def call(self, lan: CallingLan, board: Listening, at_us: float) -> None:
        """Open as many connections as allowed at once, at the first call only; each is followed by the next."""
        if self._listening is not None:
            return
        self._listening = board
        while (recording := self.calls.begin(str(board), at_us)) is not None:
            lan.connect(str(board), _Line(self, recording), at_us)

    def first(self, board: Listening, at_us: float) -> Line:
        """Serve the first connection, opened at `at_us`; `call` opens the others."""
        recording = self.calls.begin(str(board), at_us)
        assert recording is not None  # a load generator has one connection at least
        return _Line(self, recording)

    def next(self, peer: str, now_us: float) -> Recording | None:
        """The next connection, after one whose last answer is on its way at `now_us`."""
        pause_us = self.calls.load.pause_us
        return None if self.killed else self.calls.begin(peer, now_us + self.turnaround_us + pause_us)

    def kill(self) -> None:
        """End the process of the load generator: its connections are reset at the next packet."""
        self.killed = True


class _Line:
    """A series of connections, each opened after the one before."""

    def __init__(self, owner: SimulatedLoadGenerator, recording: Recording) -> None:
        self._owner = owner
        self._calls = owner.calls
        self._recording = recording
        self._over: int | None = None
        """The connection that ended last; the board may close it after the next one has begun."""

    def accept(self, conn: int, peer: str, now_us: float) -> Reply:
        if not self._calls.is_open(self._recording):  # given up since
            return RESET
        said = self._recording.established(now_us, handover_us=self._owner.turnaround_us)
        return said, False, False, None

    def receive(self, conn: int, data: bytes, now_us: float) -> Reply:
        recording = self._recording
        if not self._calls.is_open(recording) or self._owner.killed:
            return RESET
        answer = recording.receive(data, now_us)
        if recording.error is None and not recording.finished:
            return answer, False, False, None
        self._over = conn
        return answer, True, False, self._go_on(now_us, now_us + self._owner.turnaround_us)

    def closed(self, conn: int, reset: bool, now_us: float) -> Reply:
        recording = self._recording
        if not self._calls.is_open(recording) or conn == self._over:
            return NOTHING
        if recording.established_us is None:
            again = self._calls.refused(recording, now_us)
            return (b"", False, False, RETRY_US) if again else NOTHING
        if reset:
            recording.lost("reset")
        else:
            recording.eof(now_us)
        return b"", True, False, self._go_on(now_us, now_us)

    def _go_on(self, now_us: float, ended_us: float) -> float | None:
        """End the connection; the pause until the next one, in microseconds."""
        peer = self._recording.peer
        self._calls.ended(self._recording, ended_us)
        recording = self._owner.next(peer, now_us)
        if recording is None:
            return None
        self._recording = recording
        return float(self._calls.load.pause_us)
