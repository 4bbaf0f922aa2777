"""The other board of a pair: it serves. It hangs on the same simulated switch as the board of this process, and runs in
lock-step with it from where that is powered up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from portbench._engine import EngineError, Machine
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.bootrom import bootrom
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.cpu_faults import CpuFaultLog
from portbench.boards.emulated.liveness import Liveness
from portbench.boards.emulated.way_to_pc import WayToPc
from portbench.boards.errors import BoardError
from portbench.server.listening import Listening, parse_listening
from portbench.server.simulated import SimulatedServer
from portbench.workloads.announcement import Announcement

AFTER_LINE_US: Final = 10_000.0
"""From a server's line to where the board beside it is powered up: as long as the PC waits before it calls one."""
LISTENING_US: Final = 60e6
"""Twice as long as a client tries by itself."""
_SLICE_US: Final = 2000.0
_SILENT_US: Final = 20e6
"""TCP repeats what is not acknowledged many times until then; no message of any runtime takes longer than 0.3 s."""
_LAST_WORDS_US: Final = 5e6
_MOST_TOLD: Final = 1 << 16
"""Bytes of what a board without a console tells the PC."""


class Partner:
    """`flash`: what is in its flash when it is powered up, as `config.flash_id` says. Times are its own."""

    def __init__(
        self, definition: BoardDefinition, config: EmulatedConfig, flash: bytes, log: Callable[[str], None]
    ) -> None:
        # One record has the frames of both: that of the LAN where the PC is.
        self.machine = Machine(bootrom(), flash, config.settings(definition))
        self.console = Console(lambda line: self._hear(line, self.machine.console_time_us))
        self._pc = SimulatedServer(lambda: Announcement(_MOST_TOLD), config.turnaround_us)
        self.machine.listen(config.server_port, self._pc)
        self.listening: Listening | None = None
        self.since_ps = 0
        """Its time when the board beside it was powered up."""
        self._heard_us = 0.0
        self._log = log
        self._liveness = Liveness()
        self._cpu_faults = CpuFaultLog(lambda line: log(f"partner: {line}"))
        self._way = WayToPc(self.machine, config.phy_link_delay_us, config.dhcp_delay_us)
        self._frames: tuple[int, float] = (0, 0.0)
        self._client_over_us: float | None = None

    def listen(self) -> Listening:
        """Runs it by itself, until 10 ms after it has said where it listens. Raises BoardError where it never will."""
        try:
            while self.listening is None:
                if (why := self._why_not()) is not None:
                    raise BoardError(f"the board that is to serve: {why}")
                self._look(self.machine.run(self.machine.time_us + _SLICE_US))
                self._way.look()
            until_us = self._heard_us + AFTER_LINE_US
            while self.machine.time_us < until_us:
                self._look(self.machine.run(until_us))
        except EngineError as error:
            raise BoardError(f"the board that is to serve: {error}") from error
        return self.listening

    def join(self, machine: Machine) -> None:
        """`machine` has just been powered up."""
        self.since_ps = self.machine.time_ps
        self._frames = (0, self.machine.time_us)
        machine.join(self.machine)

    def run_beside(self, machine: Machine, until_us: float) -> str:
        """As `machine.run` does, with both. Raises EngineError."""
        while True:
            stop, of_partner = machine.run_beside(until_us, self.machine, self.since_ps)
            if not of_partner:
                self._way.look()
                return stop
            self._look(stop)

    @property
    def result(self) -> dict[str, Any] | None:
        """The line on its console, or what it has told the PC where it has none."""
        if self.console.result is not None or not self._pc.reports:
            return self.console.result
        return [session.report for session in self._pc.sessions() if session.report is not None][-1]

    @property
    def is_over(self) -> bool:
        """It has told its result, or has had the time to, after the client's end."""
        over_us = self._client_over_us
        return self.result is not None or (over_us is not None and self.machine.time_us >= over_us + _LAST_WORDS_US)

    def client_is_over(self) -> None:
        self._client_over_us = self._client_over_us or self.machine.time_us

    def lost(self, frames_to_client: int) -> str | None:
        """Why the client will wait for ever, as one line. `frames_to_client`: how many have come to it."""
        now_us = self.machine.time_us
        if frames_to_client != self._frames[0]:
            self._frames = (frames_to_client, now_us)
        if self._client_over_us is not None:
            return None
        if (address := self.machine.address_conflict) is not None:
            return f"address conflict: both boards say that they are {address}; give each its own"
        why = self._liveness.stuck(now_us) or self._way.lost() or self._failed()
        if why is not None:
            return f"the board that serves: {why}"
        if now_us >= self._frames[1] + _SILENT_US:
            return f"no frame has come from the board that serves for {_SILENT_US / 1e6:g} s of simulated time"
        return None

    def _why_not(self) -> str | None:
        if (why := self._liveness.stuck(self.machine.time_us) or self._way.lost() or self._failed()) is not None:
            return why
        if self.machine.time_us < LISTENING_US:
            return None
        last = [line for line in self.console.tail(3) if line.strip()][-1:]
        said = f"the last that it said: {last[0]!r}" if last else "it has said nothing"
        return f"does not listen after {LISTENING_US / 1e6:g} s of simulated time; {said}"

    def _failed(self) -> str | None:
        result = self.result
        if result is None or "error" not in result:
            return None
        return f"failed in stage {result.get('stage', 'unknown')}: {result['error']}"

    def _look(self, stop: str) -> None:
        machine = self.machine
        if locked_up := self._cpu_faults.look(machine):
            self._liveness.locked_up(machine.time_us, locked_up)
        if stop.startswith("reset"):
            self._log(f"partner: {stop}")
            self._liveness.was_reset(machine.time_us, stop.removeprefix("reset: "))
        if machine.usb_events():
            self._liveness.enumerated(machine.time_us, machine.usb()["configured"])
        if data := machine.console_read():
            self._liveness.printed()
            self.console.feed(data)
        if self._pc.announcement is not None:
            self._hear(*self._pc.announcement)
            self._pc.announcement = None

    def _hear(self, line: str, at_us: float) -> None:
        if self.listening is None and (listening := parse_listening(line)) is not None:
            self.listening = listening
            self._heard_us = at_us


def partner_config(config: EmulatedConfig, own: EmulatedConfig) -> EmulatedConfig:
    """That of a partner: its own board's, without what only one of the two can have."""
    return replace(config, capture=own.capture, forward=(), bridge=(), board_faults=(), uart_ports=False)
