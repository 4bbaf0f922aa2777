"""The PC's connections to a board that listens, without I/O: which to open, how often to try, and their records."""

from __future__ import annotations

from typing import Final

from portbench.server.recording import Recording
from portbench.workloads import Caller, Session

RETRY_US: Final = 5_000.0
"""Between a refusal and the next attempt: a W5500 refuses everybody until its driver listens on another socket."""
CONNECT_LIMIT_US: Final = 10_000_000.0
IDLE_LIMIT_US: Final = 30_000_000.0
"""Longest time without a byte of the board."""


class Calls:
    """Of one run. Times are microseconds of the driver's clock.

    `connect_limit_us`: how long a connection may take to be established, refusals included.
    """

    def __init__(self, caller: Caller, connect_limit_us: float = CONNECT_LIMIT_US) -> None:
        self.caller = caller
        self._connect_limit_us = connect_limit_us
        self.fault: str | None = None
        """Why the run has no figures: the first connection that failed, as one line."""
        self.fault_us: float | None = None
        self._recordings: list[Recording] = []
        self._open: dict[int, Recording] = {}

    def begin(self, peer: str, at_us: float) -> Recording | None:
        """The next connection, which is opened at `at_us`; None where none may be opened."""
        conversation = self.caller.begin()
        if conversation is None:
            return None
        recording = Recording(len(self._recordings), peer, at_us, conversation)
        self._recordings.append(recording)
        self._open[recording.number] = recording
        return recording

    def refused(self, recording: Recording, now_us: float) -> bool:
        """The board did not take the connection: whether to try again, RETRY_US later."""
        if self.fault is not None:
            recording.error = "given up, as another one failed"
        elif now_us + RETRY_US > recording.started_us + self._connect_limit_us:
            recording.error = f"refused {recording.attempts} times in {self._connect_limit_us / 1e6:g} s"
        if recording.error is not None:
            self.ended(recording, now_us)
            return False
        recording.attempts += 1
        return True

    def look(self, now_us: float) -> None:
        """Gives up connections on which the board has been silent for too long."""
        for recording in list(self._open.values()):
            if recording.established_us is None:
                if now_us >= recording.started_us + self._connect_limit_us:
                    recording.error = f"no answer to connecting within {self._connect_limit_us / 1e6:g} s"
            elif now_us >= max(recording.established_us, recording.last_byte_us or 0.0) + IDLE_LIMIT_US:
                recording.error = f"no byte for {IDLE_LIMIT_US / 1e6:g} s after {recording.exchanges} exchanges"
            if recording.error is not None:
                self.ended(recording, now_us, counts=False)

    def ended(self, recording: Recording, now_us: float, *, counts: bool = True) -> None:
        """It is over, well unless it has an error; `counts`: which may be one that the workload counts."""
        if self._open.pop(recording.number, None) is None:
            return
        recording.ended(now_us)
        good = recording.error is None or (
            counts and self.caller.counts_failures and recording.established_us is not None
        )
        self.caller.ended(good=good)
        if not good and self.fault is None:
            of = f"connection {recording.number + 1} of {self.caller.connections} to {recording.peer}"
            self.fault, self.fault_us = f"{of}: {recording.error}", now_us

    def is_open(self, recording: Recording) -> bool:
        return recording.number in self._open

    @property
    def exchanges(self) -> int:
        """Of all connections together."""
        return sum(recording.exchanges for recording in self._recordings)

    def sessions(self) -> list[Session]:
        """One per connection so far, in the order in which they began."""
        return [recording.session() for recording in self._recordings]
