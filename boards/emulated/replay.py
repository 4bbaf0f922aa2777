"""A measured run in this process, from a flash content: as often as wanted, always the same, and open to be traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from portbench._engine import EngineError, Machine
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition, Ethernet
from portbench.boards.emulated.attribution import Spent, attribution, spent
from portbench.boards.emulated.bootrom import bootrom
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.gdb_server import GdbServer
from portbench.boards.emulated.pings import Pings, RunPings
from portbench.boards.emulated.spi_frame import SpiFrame
from portbench.boards.emulated.trace import ExchangeTrace, exchange_trace, exchange_window
from portbench.boards.errors import BoardError
from portbench.boards.timing import Deadline
from portbench.server.simulated_pc import Part, SimulatedPc, part_in
from portbench.workloads import Session, Timed

TimedIn = Callable[[Mapping[str, Any], Sequence[Session]], Sequence[Timed]]

_SLICE_US = 2000.0
_GDB_WAIT_S = 0.05
_HALF_PS_US = 5e-7
"""The engine counts picoseconds and cuts off what is less."""
_KINDS = ("irq", "lan", "pins", "cores", "wire")
_PC_KIND = "pc"
_MOST_RECORDS = 2_000_000


@dataclass(frozen=True)
class Figures:
    """All that a run shows of itself. Two runs of the same flash are equal, traced or not."""

    result: dict[str, Any] | None
    """The client's result line, or the report of a client without a console."""
    sessions: list[Session]
    end_us: float
    stats: dict[str, Any]
    """The engine's counters at `end_us`."""


@dataclass(frozen=True)
class Recording:
    """All that the engine recorded of one stretch of a run."""

    start_us: float
    end_us: float
    frames: tuple[SpiFrame, ...]
    """Decoded, by their starts."""
    records: tuple[dict[str, Any], ...]
    """In the order in which they came, see `Machine.trace_take`."""
    lost: int
    """Records that did not fit."""
    figures: Figures
    """Of the whole run, recorded or not."""
    spent: Spent | None
    """What the stretch went to; None where not all of the run could be recorded."""


@dataclass(frozen=True)
class Attributed:
    """A run, and where its time went as `attribution` has it; None: that cannot be told."""

    figures: Figures
    attribution: dict[str, Any] | None


class Replay:
    """Runs `flash` on a new board each time, with the simulated PC and nothing of the host's.

    `workload`, `settings`: what that PC takes part in; the settings as JSON has them.
    """

    def __init__(
        self,
        definition: BoardDefinition,
        config: EmulatedConfig,
        flash: bytes,
        workload: str,
        settings: Mapping[str, Any],
    ) -> None:
        self._definition = definition
        self._config = config
        self._flash = flash
        self._part = part_in(workload, settings)

    def run(self, deadline: Deadline) -> Figures:
        """From power-up until the result has come. Raises DeadlineExceeded or BoardError."""
        return self.start().to_end(deadline)

    def debug(self, figures: Figures, server: GdbServer, wait: Callable[[], bool]) -> Figures | None:
        """The run once more with gdb at `server`, stopped at power-up until gdb comes.

        `figures` are those of `run`. `wait` pauses and says whether to go on. Returns the figures at the time at which
        those were taken, or None where it was not to go on.
        """
        run = self.start()
        while not server.attached:
            if not wait():
                return None
            server.serve(run.machine, 0.0)
        while run.machine.time_us < figures.end_us:
            if server.running:
                server.serve(run.machine, 0.0)
            elif not wait():
                return None
            else:
                server.serve(run.machine, _GDB_WAIT_S)
            if server.running:
                until_us = min(run.machine.time_us + _SLICE_US, figures.end_us + _HALF_PS_US)
                server.ran(run.machine, run.step(until_us))
        server.exited(run.machine)
        return run.figures()

    def attribute(self, timed: TimedIn, deadline: Deadline) -> Attributed:
        """The run with its time attributed; `timed` tells what its result and sessions hold. Raises as `run` does."""
        run = self.start()
        run.machine.attribution_start()
        figures = run.to_end(deadline)
        run.machine.attribution_stop()
        if figures.result is None or "error" in figures.result:
            return Attributed(figures, None)
        spans = timed(figures.result, figures.sessions)
        found = attribution(run.machine, spans, figures.sessions, figures.result)
        return Attributed(figures, found)

    def trace(self, figures: Figures, number: int, deadline: Deadline, *, pc_sample_cycles: int = 0) -> ExchangeTrace:
        """The run once more with exchange `number` traced; `figures` are those of `run`.

        `pc_sample_cycles`: sample the program counters each so many cycles, 0 for not at all. Raises BoardError if the
        run had no such exchange, or if tracing had changed anything in it.
        """
        window = exchange_window(figures.sessions, number)
        recording = self.record(figures, window, deadline, pc_sample_cycles=pc_sample_cycles)
        return self.exchange(number, window, recording)

    def exchange(self, number: int, window: tuple[float, float], recording: Recording) -> ExchangeTrace:
        """What of `recording` lies in the window of exchange `number`."""
        about = (number, window, recording.frames, recording.records, recording.lost, self.intn_pin, recording.spent)
        return exchange_trace(*about)

    def record(
        self, figures: Figures, window: tuple[float, float], deadline: Deadline, *, pc_sample_cycles: int = 0
    ) -> Recording:
        """The run once more with everything recorded from the first to the second time of `window`, in microseconds.

        Raises BoardError if recording had changed anything in the run.
        """
        start_us, end_us = window
        again = self.start()
        machine = again.machine
        machine.attribution_start()  # what a moment goes to depends on what was before it, and comes after it
        again.until(start_us, deadline)
        machine.spi_log(True)
        kinds = [*_KINDS, _PC_KIND] if pc_sample_cycles else _KINDS
        machine.trace_start(kinds, _MOST_RECORDS, pc_sample_cycles or 1)
        again.until(end_us, deadline)
        machine.trace_stop()
        records, lost = machine.trace_take()
        frames_taken = machine.spi_log_take()
        machine.spi_log(False)
        self._end(again, figures, deadline, "tracing it")
        machine.attribution_stop()
        frames = (SpiFrame(*frame) for frame in frames_taken)
        inside = tuple(frame for frame in frames if start_us <= frame.start_us < end_us)
        went = spent(machine, start_us, end_us)
        return Recording(start_us, end_us, inside, tuple(records), lost, figures, went)

    def profile(
        self,
        figures: Figures,
        window: tuple[float, float],
        deadline: Deadline,
        *,
        samples_hz: int = 0,
        starts: Sequence[int] = (),
    ) -> dict[str, Any]:
        """The run once more with a profile of the time in `window`: what `Machine.profile_take` gives.

        `samples_hz`: sample the program counters so many times in a simulated second; 0: look at each instruction.
        `starts`: addresses at which functions begin. Adds `hz`, of clk_sys at the end, and `instructions`, those
        that the engine counted. Raises BoardError if that had changed anything in the run.
        """
        start_us, end_us = window
        again = self.start()
        again.until(start_us, deadline)
        machine = again.machine
        before = machine.stats()
        machine.profile_start(max(1, before["clk_sys_hz"] // samples_hz) if samples_hz else 0, starts)
        again.until(end_us, deadline)
        found = machine.profile_take()
        after = machine.stats()
        found["hz"] = after["clk_sys_hz"]
        found["instructions"] = after["instructions"] - before["instructions"]
        self._end(again, figures, deadline, "profiling it")
        return found

    def capturing(self, capture: Path | None) -> Replay:
        """The same, with its frames written to a pcap file."""
        other = copy(self)
        other._config = replace(self._config, capture=capture)
        return other

    @property
    def pc_ip(self) -> IPv4Address:
        return self._config.pc_ip

    @property
    def intn_pin(self) -> int | None:
        network = self._definition.network
        return network.intn_pin if isinstance(network, Ethernet) else None

    def start(self) -> Run:
        """A run that the caller takes through its time."""
        machine = Machine(bootrom(), self._flash, self._config.settings(self._definition))
        port = None if self._definition.network is None else self._config.server_port
        return Run(machine, port, self._config.turnaround_us, self._part)

    def _end(self, run: Run, figures: Figures, deadline: Deadline, doing: str) -> None:
        run.until(figures.end_us, deadline)
        if run.figures() != figures:
            raise BoardError(f"{doing} changed the run; the engine is at fault")


class Run:
    """One run from power-up, with the simulated PC."""

    def __init__(self, machine: Machine, server_port: int | None, turnaround_us: int, part: Part) -> None:
        self.machine = machine
        pinger = None if server_port is None else RunPings(Pings(), machine)
        pc = SimulatedPc(machine, server_port, turnaround_us, part, pinger)
        # Not by `self`: the machine is to go, and its capture to be whole, as soon as nobody has this run any more.
        self._console = Console(lambda line: pc.heard(line, machine.console_time_us))
        self._pc = pc

    def to_end(self, deadline: Deadline) -> Figures:
        while self._result is None:
            deadline.check(f"the result; the board printed {self._console.tail(3)}")
            self.step(self.machine.time_us + _SLICE_US)
            if (fault := self._pc.given_up(self.machine.time_us)) is not None:
                raise BoardError(f"emulated board: {fault}")
        return self.figures()

    def until(self, time_us: float, deadline: Deadline) -> None:
        while self.machine.time_us < time_us:
            deadline.check(f"simulated time {time_us:.0f} us")
            self.step(min(time_us + _HALF_PS_US, self.machine.time_us + _SLICE_US))

    def figures(self) -> Figures:
        sessions = [each for each in self._pc.sessions() if each.listening is None]
        return Figures(self._result, sessions, self.machine.time_us, self.machine.stats())

    @property
    def _result(self) -> dict[str, Any] | None:
        reports = (session.report for session in self._pc.sessions())
        return self._console.result or next((report for report in reports if report is not None), None)

    def step(self, until_us: float) -> str:
        """Until then, or until something wants attention: what `Machine.run` says."""
        try:
            stop = self.machine.run(until_us)
        except EngineError as error:
            raise BoardError(f"emulated board: {error}") from error
        self.machine.usb_events()
        self._console.feed(self.machine.console_read())
        self._pc.look(self.machine.time_us)
        return stop
