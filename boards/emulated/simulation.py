"""`Simulation`: one emulated board, and the one way to let its simulated time pass. Time is counted in picoseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import portbench_engine
from portbench_engine import EngineError, Machine
from portbench_engine._native import NO_BOOT_LOADER

from portbench.boards.console import Console
from portbench.boards.emulated.liveness import Complaints, CpuFaultLog, Kind, Liveness
from portbench.boards.emulated.network import Pings, RunPings
from portbench.boards.timing import Deadline
from portbench.errors import BoardError
from portbench.firmware.boot_roms import boot_rom
from portbench.server.simulated_pc import Part, SimulatedPc

LAG_S = 0.02
"""The most by which a board that serves a program of this machine catches up with the clock."""
BUSY_SHARE = 0.2
"""A board whose cores execute more than this share of their cycles has work to do."""
_JUMPED_S: Final = 0.5
"""A larger lead over the clock comes from the drive, whose reading and writing is simulated in one go."""
_MAY_CATCH_UP_S: Final = 0.25
"""A PC that was held up for less than this catches up."""
_SLOW_S: Final = 1.0
"""The loss of time after which the user is told."""


class Pace(StrEnum):
    """The clock that simulated time keeps to."""

    FREE = "free"
    """A busy board runs flat out; an idle one runs at the host's pace, so that it costs next to nothing."""
    REALTIME = "realtime"
    """Never ahead of the host's clock, and level with it as soon as possible: the LAN is bridged to real sockets, whose
    timeouts would strike too early."""
    WALL_CLOCK = "wall-clock"
    """Never ahead of the host's clock either. Time that a slow host has lost stays lost; else the board would hurry."""


class Pacer:
    """Slows simulated time down. A board that serves a program of this machine is never ahead of the host: the program
    would see answers too early."""

    def __init__(self, pace: Pace = Pace.FREE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = pace
        self._clock = clock
        self._started_s = self._base_host_s = clock()
        self._base_sim_us = 0.0
        self._last_us = 0.0
        self._last_instructions = 0
        self._lost_s = 0.0
        self._told = False
        self._serving = False
        self.flat_out = False
        """Run flat out even when idle, as during a measured run."""

    def restart(self) -> None:
        """Begin again at simulated time 0."""
        self._base_host_s = self._clock()
        self._base_sim_us = self._last_us = 0.0
        self._last_instructions = 0

    def delay_s(
        self, time_us: float, instructions: int, clk_sys_hz: int, *, hurry: bool = False, serving: bool = False
    ) -> float:
        """Return how long to wait before simulating on from `time_us`.

        `hurry`: a user waits for this idle board. `serving`: a program of this machine is connected to it.
        """
        cycles = (time_us - self._last_us) * clk_sys_hz / 1e6
        busy = cycles > 0 and (instructions - self._last_instructions) / cycles > BUSY_SHARE
        self._last_us, self._last_instructions = time_us, instructions
        ahead_s = (time_us - self._base_sim_us) / 1e6 - (self._clock() - self._base_host_s)
        if serving:
            if not self._serving or ahead_s < -LAG_S:
                self._lost_s += max(0.0, -ahead_s)
                self._rebase(time_us)
                ahead_s = 0.0
            self._serving = True
            return max(0.0, ahead_s)
        self._serving = False
        if self._pace is Pace.REALTIME and not self.flat_out:
            return max(0.0, ahead_s)
        if self._pace is Pace.WALL_CLOCK and not self.flat_out:
            return self._keep_to_clock(time_us, ahead_s)
        if busy or self.flat_out or hurry:
            if ahead_s > 0:
                self._rebase(time_us)
            return 0.0
        if ahead_s < 0:
            # The host was slower: an idle board does not have to catch up.
            self._rebase(time_us)
            return 0.0
        return ahead_s

    def too_slow(self) -> str | None:
        """Return one line, once, for users of the board's clock."""
        if self._told or self._pace is not Pace.WALL_CLOCK or self._lost_s < _SLOW_S:
            return None
        self._told = True
        after_s = self._clock() - self._started_s
        return (
            f"this PC is too slow for what the board does: {self._lost_s:.1f} s behind the clock after {after_s:.1f} s"
        )

    def _keep_to_clock(self, time_us: float, ahead_s: float) -> float:
        if ahead_s > _JUMPED_S:
            self._rebase(time_us)
            return 0.0
        if ahead_s < -_MAY_CATCH_UP_S:
            self._lost_s -= ahead_s
            self._rebase(time_us)
        return max(0.0, ahead_s)

    def _rebase(self, time_us: float) -> None:
        self._base_host_s = self._clock()
        self._base_sim_us = time_us


PS_PER_US: Final = 10**6
PS_PER_S: Final = 10**12
SLICE_PS: Final = 2000 * PS_PER_US
"""From one look at the machine to the next: less than the PC waits before it calls a board."""


def ps(time_us: float) -> int:
    """Return a time in microseconds as the engine counts it."""
    return round(time_us * PS_PER_US)


class Step(NamedTuple):
    """What one stretch of simulated time brought."""

    stop: str
    """What ended it, see `Machine.run_until_ps`."""
    usb: list[tuple[float, str, str]]
    """Events of the board's USB."""
    printed: bytes
    """Output of the console."""

    @property
    def reset(self) -> bool:
        """Whether it ended with a reset of the chip."""
        return self.stop.startswith("reset")


class Simulation:
    """A board with `flash`, switched on, without a PC on its network. Times are since power-up.

    `settings`: the engine's. `log` gets a line for each reset and each fault of the cores; `complain` gets one line,
    once since power-up, for each kind of trouble that looks like mere silence on the console. `stand_in`: the board
    goes on in the USB boot loader that its boot ROM lacks.
    """

    def __init__(
        self,
        flash: bytes,
        settings: Mapping[str, Any],
        *,
        log: Callable[[str], None] = lambda line: None,
        complain: Callable[[str], None] = lambda line: None,
        engine: Any = portbench_engine,
        stand_in: bool = False,
    ) -> None:
        self.machine: Machine = engine.Machine(boot_rom(settings["mcu"]), flash, settings)
        self.slice_ps = SLICE_PS
        self.liveness = Liveness()
        self.pc: SimulatedPc | None = None
        self.console = Console()
        self.fault: str | None = None
        """Why the board cannot go on."""
        self._stand_in = stand_in
        self.in_boot_loader = False
        """The board is in the USB boot loader that its boot ROM lacks."""
        self.cause: BaseException | None = None
        """The exception of an attached device behind `fault`."""
        self._log = log
        self._complaints = Complaints(complain)
        self._cpu_faults = CpuFaultLog(log, self._complaints)
        self._other: Simulation | None = None
        self._since_ps = 0

    @property
    def time_ps(self) -> int:
        return self.machine.time_ps

    @property
    def time_us(self) -> float:
        return self.machine.time_us

    def power_up(self, *, bootsel: bool = False, flash: bytes | None = None, settings: Any = None) -> None:
        """Restart at time 0, alone and without a PC. `flash`: with these contents and `settings` on a new machine."""
        if flash is None:
            self.machine.power_cycle(bootsel)
        else:
            self.machine = Machine(boot_rom(settings["mcu"]), flash, settings, bootsel)
        self.fault = self.cause = self._other = self.pc = None
        self.in_boot_loader = False
        self.console = Console()
        self.liveness.powered_up()
        self._cpu_faults.powered_up()
        self._complaints.powered_up()

    def serve(self, port: int | None, turnaround_us: float, part: Part, pings: Pings | None = None) -> SimulatedPc:
        """Put the PC on the board's network, where it does its `part`. `port` None: it serves no port."""
        pinger = None if port is None else RunPings(pings or Pings(), self.machine)
        self.pc = SimulatedPc(self.machine, port, turnaround_us, part, pinger)
        self.hear()
        return self.pc

    def hear(self) -> None:
        """Begin a new console: the result on the one before is of an earlier run."""
        pc, machine = self.pc, self.machine
        assert pc is not None  # the console's lines tell the PC where the board listens
        # Not by `self`: the machine and its capture are to end as soon as the last reference to this simulation does.
        self.console = Console(lambda line: pc.heard(line, machine.console_time_us))

    def share_switch(self, other: Simulation) -> None:
        """Join the switch of `other`, which runs already; both go on in lock-step from here."""
        self.machine.join(other.machine)
        self._other, self._since_ps = other, other.time_ps

    def step(self, until_ps: int) -> Step:
        """Run until then, or until something wants attention. Sets `fault` where the guest cannot go on."""
        try:
            stop = self._run(until_ps)
        except EngineError as error:
            stop = ""
            self._log(str(error))
            if self._stand_in and NO_BOOT_LOADER in str(error):
                self.in_boot_loader = True
            else:
                self.fault, self.cause = str(error), error.__cause__
                self._complaints.tell(Kind.STOPPED, self.fault)
        return self.ran(stop)

    def advance(self, until_ps: int) -> Step:
        """Run for one slice, but not beyond `until_ps`. Raises BoardError where the guest cannot go on."""
        step = self.step(min(until_ps, self.time_ps + self.slice_ps))
        if self.fault is not None:
            raise BoardError(f"emulated board: {self.fault}")
        return step

    def run_until(self, until_ps: int, deadline: Deadline | None = None) -> None:
        """Raises BoardError as `advance` does, and DeadlineExceeded."""
        while self.time_ps < until_ps:
            if deadline is not None:
                deadline.check(f"simulated time {until_ps / PS_PER_US:.0f} us")
            self.advance(until_ps)

    def ran(self, stop: str) -> Step:
        """Take what the machine brought in a stretch of time that ended with `stop`."""
        machine, now_us = self.machine, self.time_us
        if (locked_up := self._cpu_faults.look(machine)) is not None:
            self.liveness.locked_up(now_us, locked_up)
        self.liveness.first_fault = self._cpu_faults.first
        if stop.startswith("asleep: "):
            asleep = stop.removeprefix("asleep: ")
            self._log(asleep)
            self._complaints.tell(Kind.ASLEEP, asleep)
            self.liveness.asleep(asleep)
        step = Step(stop, machine.usb_events(), machine.console_read())
        if step.reset:
            self._log(stop)
            self.liveness.was_reset(now_us, stop.removeprefix("reset: "))
            if (loop := self.liveness.stuck(now_us)) is not None:
                self._complaints.tell(Kind.RESETS, loop)
        if step.usb:
            self.liveness.enumerated(now_us, machine.usb()["configured"])
        if step.printed:
            self.liveness.printed()
            self.console.feed(step.printed)
        if self.pc is not None:
            self.pc.look(now_us)
        return step

    def _run(self, until_ps: int) -> str:
        if self._other is None:
            return self.machine.run_until_ps(until_ps)
        while True:
            stop, of_other = self.machine.run_beside(until_ps, self._other.machine, self._since_ps)
            if not of_other:
                return stop
            self._other.ran(stop)
