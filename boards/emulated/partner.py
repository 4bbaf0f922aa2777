"""The second board of a pair, which serves. It is on one simulated switch with the board of this process, and runs in
lock-step with it from that board's power-up on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from portbench.boards.board import RunOutput
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition, Wifi
from portbench.boards.emulated.client_watch import WayToPc
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import Simulation, Step, counters, ps
from portbench.errors import BoardError
from portbench.server.calls import Listening, parse_listening
from portbench.server.simulated_pc import SimulatedServer
from portbench.workloads.conversation import ClientReport

AFTER_LINE_US: Final = 10_000.0
"""From a server's line to the power-up of its client: as long as the PC waits before it calls a board."""
LISTENING_US: Final = 60e6
"""Twice as long as a client tries by itself."""
_SILENT_US: Final = 20e6
"""TCP repeats a segment many times until then; no message of any runtime takes longer than 0.3 s."""
LAST_WORDS_US: Final = 5e6
"""From a client's report to its last segment."""
_MOST_TOLD: Final = 1 << 16
"""Limit of the report of a board without a console to the PC."""


class Partner(Simulation):
    """A board that is powered up with `flash`, and serves. Times are its own."""

    def __init__(
        self, definition: BoardDefinition, config: EmulatedConfig, flash: bytes, log: Callable[[str], None]
    ) -> None:
        super().__init__(flash, config.settings(definition), log=lambda line: log(f"partner: {line}"))
        # Its LAN has the PC, and so records the frames of both boards.
        self.console = Console(lambda line: self._hear(line, self.machine.console_time_us))
        self._server = SimulatedServer(lambda: ClientReport(_MOST_TOLD), config.turnaround_us)
        self.machine.listen(config.server_port, self._server)
        self.listening: Listening | None = None
        self._heard_us = 0.0
        wireless = isinstance(definition.network, Wifi)
        self._way = WayToPc(self.machine, config.phy_link_delay_us, config.dhcp_delay_us, wireless=wireless)
        self._frames: tuple[int, float] = (0, 0.0)
        self._client_over_us: float | None = None

    def listen(self) -> Listening:
        """Run it alone until 10 ms after it has said where it listens. Raises BoardError where it never will."""
        while self.listening is None:
            if (why := self._why_not()) is not None:
                raise BoardError(f"the board that is to serve: {why}")
            self.step(self.time_ps + self.slice_ps)
            self._way.look()
        until_ps = ps(self._heard_us + AFTER_LINE_US)
        while self.time_ps < until_ps and self.fault is None:
            self.step(until_ps)
        if self.fault is not None:
            raise BoardError(f"the board that is to serve: {self.fault}")
        return self.listening

    def join(self, client: Simulation) -> None:
        """Share a switch with `client`, which has just been powered up."""
        self._frames = (0, self.time_us)
        client.share_switch(self)

    def look(self) -> None:
        """See how far it has come to the PC, once for each stretch of the client's time."""
        self._way.look()

    @property
    def result(self) -> dict[str, Any] | None:
        """The result line on its console, or its report to the PC where it has no console."""
        if self.console.result is not None or not self._server.reports:
            return self.console.result
        return [session.report for session in self._server.sessions() if session.report is not None][-1]

    @property
    def is_over(self) -> bool:
        """True if it has reported its result, or has had the time to after the client's end."""
        over_us = self._client_over_us
        return self.result is not None or (over_us is not None and self.time_us >= over_us + LAST_WORDS_US)

    def served(self, timeout_s: float = 0.0) -> RunOutput:
        """Return its output, for which the client's run has waited in simulated time."""
        return RunOutput(self.result, list(self.console.lines), sim={"counters": counters(self.machine.stats())})

    def client_is_over(self) -> None:
        self._client_over_us = self._client_over_us or self.time_us

    def lost(self, frames_to_client: int) -> str | None:
        """Return why the client waits in vain, as one line. `frames_to_client`: how many have reached it."""
        now_us = self.time_us
        if frames_to_client != self._frames[0]:
            self._frames = (frames_to_client, now_us)
        if self._client_over_us is not None:
            return None
        if (address := self.machine.address_conflict) is not None:
            return f"address conflict: both boards say that they are {address}; give each its own"
        if (why := self.stuck or self._way.lost() or self._failed()) is not None:
            return f"the partner: {why}"
        if now_us >= self._frames[1] + _SILENT_US:
            return f"no frame has come from the partner for {_SILENT_US / 1e6:g} s of simulated time"
        return None

    def _why_not(self) -> str | None:
        if (why := self.stuck or self._way.lost() or self._failed()) is not None:
            return why
        if self.time_us < LISTENING_US:
            return None
        last = [line for line in self.console.tail(3) if line.strip()][-1:]
        said = f"the last that it said: {last[0]!r}" if last else "it has said nothing"
        return f"does not listen after {LISTENING_US / 1e6:g} s of simulated time; {said}"

    def _failed(self) -> str | None:
        result = self.result
        if result is None or "error" not in result:
            return None
        return f"failed in stage {result.get('stage', 'unknown')}: {result['error']}"

    def ran(self, stop: str) -> Step:
        step = super().ran(stop)
        if self._server.announcement is not None:
            self._hear(*self._server.announcement)
            self._server.announcement = None
        return step

    def _hear(self, line: str, at_us: float) -> None:
        if self.listening is None and (listening := parse_listening(line)) is not None:
            self.listening = listening
            self._heard_us = at_us


def partner_config(config: EmulatedConfig, own: EmulatedConfig) -> EmulatedConfig:
    """Return a partner's configuration: its board's, without the settings that only one board can have."""
    return replace(config, capture=own.capture)
