"""`Simulation`: one emulated board, and the one way to let its simulated time pass. Time is counted in picoseconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import portbench_engine
from portbench_engine import EngineError, Machine
from portbench_engine._native import NO_BOOT_LOADER

from portbench.boards.console import Console
from portbench.boards.emulated.liveness import Complaints, CpuFaultLog, Liveness, Trouble
from portbench.boards.emulated.pings import Pings
from portbench.boards.timing import Deadline
from portbench.errors import BoardError
from portbench.firmware.boot_roms import boot_rom
from portbench.server.simulated_pc import Part, SimulatedPc

PS_PER_US: Final = 10**6
PS_PER_S: Final = 10**12
NAME: Final = "emulated board"
"""In errors, of a board without another name."""
SLICE_PS: Final = 2000 * PS_PER_US
"""From one look at the machine to the next: less than the PC waits before it calls a board."""
FLUSH_US: Final = 1_500_000.0
"""CircuitPython keeps its last writes in RAM for a second (its file system's flush interval); a power failure before
that loses them, on a real board too."""


def ps(time_us: float) -> int:
    """Return a time in microseconds as the engine counts it."""
    return round(time_us * PS_PER_US)


def counters(stats: Mapping[str, Any]) -> dict[str, float]:
    """Return the counters of `Machine.stats`."""
    return {name: value for name, value in stats.items() if isinstance(value, int | float)}


class Step(NamedTuple):
    """Events of one stretch of simulated time."""

    stop: str
    """The cause of its end, see `Machine.run_until_ps`."""
    usb: list[tuple[float, str, str]]
    """Events of the board's USB."""
    printed: bytes
    """Output of the console."""

    @property
    def reset(self) -> bool:
        """True if it ended with a reset of the chip."""
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
        name: str = NAME,
        log: Callable[[str], None] = lambda line: None,
        complain: Callable[[str], None] = lambda line: None,
        engine: Any = portbench_engine,
        stand_in: bool = False,
    ) -> None:
        self.machine: Machine = engine.Machine(boot_rom(settings["mcu"]), flash, settings)
        self.name = name
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

    @property
    def stuck(self) -> str | None:
        """Why the guest is stuck for good, as one line; None where no such reason is known."""
        return self.fault or self.liveness.stuck(self.time_us)

    def result_came(self, reports_before: int = 0) -> bool:
        """True if the run's result has come, on the console or at the PC, which had `reports_before` before the run."""
        reports = self.pc is not None and (self.pc.reports > reports_before or self.pc.whole)
        return self.console.result is not None or reports

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

    def serve(
        self,
        port: int | None,
        turnaround_us: float,
        part: Part,
        heard: Callable[[str], None] = lambda line: None,
    ) -> SimulatedPc:
        """Put the PC on the board's network, where it does its `part`. `port` None: it serves no port. `heard` gets
        each line of the console, as the PC does."""
        pinger = None if port is None else Pings(self.machine)
        self.pc = SimulatedPc(self.machine, port, turnaround_us, part, pinger)
        self.hear(heard)
        return self.pc

    def hear(self, heard: Callable[[str], None] = lambda line: None) -> None:
        """Begin a new console: the result on the one before is of an earlier run."""
        pc, machine = self.pc, self.machine
        assert pc is not None  # the console's lines have the address at which the board listens

        # Not by `self`: the machine and its capture are to end as soon as the last reference to this simulation does.
        def line(text: str) -> None:
            pc.heard(text, machine.console_time_us)
            heard(text)

        self.console = Console(line)

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
                self._complaints.tell(Trouble.STOPPED, self.fault)
        return self.ran(stop)

    def advance(self, until_ps: int) -> Step:
        """Run for one slice, but not beyond `until_ps`. Raises BoardError where the guest cannot go on."""
        step = self.step(min(until_ps, self.time_ps + self.slice_ps))
        if self.fault is not None:
            raise BoardError(f"{self.name}: stopped: {self.fault}")
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
        if (locked_up := self._cpu_faults.look(machine, reset=stop.startswith("reset"))) is not None:
            self.liveness.locked_up(now_us, locked_up)
        self.liveness.first_fault = self._cpu_faults.first
        self.liveness.in_fault = self._cpu_faults.in_fault
        if stop.startswith("asleep: "):
            asleep = stop.removeprefix("asleep: ")
            self._log(asleep)
            self._complaints.tell(Trouble.ASLEEP, asleep)
            self.liveness.asleep(asleep)
        step = Step(stop, machine.usb_events(), machine.console_read())
        if step.reset:
            self._log(stop)
            self.liveness.was_reset(now_us, stop.removeprefix("reset: "))
            if (loop := self.liveness.stuck(now_us)) is not None:
                self._complaints.tell(Trouble.RESETS, loop)
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
