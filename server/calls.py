"""The PC's connections to a listening board, without I/O: its port, the order, the attempts, and the records."""

import json
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Annotated, Final

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from portbench.server.recording import Recording
from portbench.server.tls.channel import Channel
from portbench.workloads import LoadGenerator, Session
from portbench.workloads.conversation import LISTENING_PREFIX

RETRY_US: Final = 5_000.0
"""Between a refusal and the next attempt: a W5500 refuses connections until its driver listens on another socket."""
CONNECT_LIMIT_US: Final = 10_000_000.0
IDLE_LIMIT_US: Final = 30_000_000.0
"""Longest time without a byte from the board."""


@dataclass(frozen=True, config=ConfigDict(extra="ignore", defer_build=True))
class Listening:
    """The TCP port on which a board listens."""

    address: IPv4Address
    port: Annotated[int, Field(ge=1, le=65535, strict=True)]

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


_LISTENING: Final = TypeAdapter(Listening)


def parse_listening(line: str) -> Listening | None:
    """The port that a client announces on a console line, with any text around it; None for other or damaged lines."""
    _, found, text = line.partition(LISTENING_PREFIX)
    if not found:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
        return _LISTENING.validate_python(value)
    except (ValueError, RecursionError):
        return None


class Calls:
    """All connections of one run. Times are microseconds of the driver's clock.

    `connect_limit_us`: the longest time to establish a connection, refusals included. `channel`: makes what encrypts
    one.
    """

    def __init__(
        self,
        load: LoadGenerator,
        connect_limit_us: float = CONNECT_LIMIT_US,
        channel: Callable[[], Channel] | None = None,
    ) -> None:
        self.load = load
        self._channel = channel
        self._connect_limit_us = connect_limit_us
        self.fault: str | None = None
        """The reason why the run has no figures: the first failed connection, in one line."""
        self.fault_us: float | None = None
        self._recordings: list[Recording] = []
        self._open: dict[int, Recording] = {}

    def begin(self, peer: str, at_us: float) -> Recording | None:
        """The next connection, opened at `at_us`; None if none may be opened."""
        conversation = self.load.begin()
        if conversation is None:
            return None
        channel = None if self._channel is None else self._channel()
        recording = Recording(len(self._recordings), peer, at_us, conversation, channel=channel)
        self._recordings.append(recording)
        self._open[recording.number] = recording
        return recording

    def refused(self, recording: Recording, now_us: float) -> bool:
        """Note that the board refused the connection. Returns True to try again RETRY_US later."""
        if self.fault is not None:
            recording.error = "given up after another failure"
        elif now_us + RETRY_US > recording.started_us + self._connect_limit_us:
            recording.error = f"refused {recording.attempts} times in {self._connect_limit_us / 1e6:g} s"
        if recording.error is not None:
            self.ended(recording, now_us)
            return False
        recording.attempts += 1
        return True

    def look(self, now_us: float) -> None:
        """Give up the connections on which the board has been silent for too long."""
        for recording in list(self._open.values()):
            if recording.established_us is None:
                if now_us >= recording.started_us + self._connect_limit_us:
                    recording.error = f"no answer to connecting within {self._connect_limit_us / 1e6:g} s"
            elif now_us >= max(recording.established_us, recording.last_byte_us or 0.0) + IDLE_LIMIT_US:
                recording.error = f"no byte for {IDLE_LIMIT_US / 1e6:g} s after {recording.exchanges} exchanges"
            if recording.error is not None:
                self.ended(recording, now_us, counts=False)

    def ended(self, recording: Recording, now_us: float, *, counts: bool = True) -> None:
        """Note the end of a connection. `counts`: its error may be one that the workload counts."""
        if self._open.pop(recording.number, None) is None:
            return
        recording.ended(now_us)
        good = recording.error is None or (
            counts and self.load.counts_failures and recording.established_us is not None
        )
        self.load.ended(good=good)
        if not good and self.fault is None:
            of = f"connection {recording.number + 1} of {self.load.connections} to {recording.peer}"
            self.fault, self.fault_us = f"{of}: {recording.error}", now_us

    def is_open(self, recording: Recording) -> bool:
        return recording.number in self._open

    @property
    def open(self) -> int:
        """Number of open connections."""
        return len(self._open)

    @property
    def exchanges(self) -> int:
        """Exchanges of all connections together."""
        return sum(recording.exchanges for recording in self._recordings)

    def sessions(self) -> list[Session]:
        """The sessions of all connections so far, in order."""
        return [recording.session() for recording in self._recordings]
