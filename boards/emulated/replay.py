"""A measured run in this process, from the contents of a flash: it is always the same, and may be traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, NamedTuple

from portbench_engine import EngineError

from portbench.boards.definition import BoardDefinition, Ethernet
from portbench.boards.emulated.attribution import SpentTime, attribution, spent
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.gdb_server import GdbServer
from portbench.boards.emulated.run import Figures, Run
from portbench.boards.emulated.simulation import ps
from portbench.boards.emulated.trace import ExchangeTrace, SpiFrame, exchange_trace, exchange_window
from portbench.boards.timing import Deadline
from portbench.errors import BoardError
from portbench.server.simulated_pc import part_in
from portbench.workloads import Session, Timed

TimedIn = Callable[[Mapping[str, Any], Sequence[Session]], Sequence[Timed]]

_GDB_WAIT_S = 0.05
_KINDS = ("irq", "lan", "pins", "cores", "wire")
_WIRE_KINDS = ("lan", "pins")
_PC_KIND = "pc"
_MOST_RECORDS = 2_000_000


@dataclass(frozen=True)
class RunRecording:
    """The engine's recording of one stretch of a run."""

    start_us: float
    end_us: float
    frames: tuple[SpiFrame, ...]
    """Decoded, by their starts."""
    records: tuple[dict[str, Any], ...]
    """In the order in which they came, see `Machine.trace_take`."""
    lost: int
    """Records that did not fit."""
    figures: Figures
    """Figures of the whole run, recorded or not."""
    spent: SpentTime | None
    """The causes of the stretch's time; None where not all of the run could be recorded."""
    mcu: str
    """The microcontroller, which names the interrupts."""


@dataclass(frozen=True)
class WireLog:
    """The network chip's wires in one stretch of a run; little, however long the stretch is."""

    start_us: float
    end_us: float
    frames: tuple[SpiFrame, ...]
    """The first ones, decoded, by their starts."""
    frames_number: int
    cable: tuple[dict[str, Any], ...]
    """Records of the kind `lan`."""
    intn: tuple[tuple[float, bool], ...]
    """Each level of INTn from its begin in microseconds; true: high."""


class _Taken(NamedTuple):
    """Events of one slice of time."""

    frames: list[SpiFrame]
    records: list[dict[str, Any]]
    lost: int


@dataclass(frozen=True)
class Attributed:
    """A run with the attribution of its time; None where there is none."""

    figures: Figures
    attribution: dict[str, Any] | None


class Replay:
    """Runs `flash` on a new board each time, with the simulated PC and without the host.

    `workload`, `settings`: the PC's part in it; the settings as JSON has them.
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
        """Run from power-up until the result has come. Raises DeadlineExceeded or BoardError."""
        return self.start().to_end(deadline)

    def debug(self, figures: Figures, server: GdbServer, wait: Callable[[], bool]) -> Figures | None:
        """Repeat the run with gdb at `server`, stopped at power-up until gdb comes.

        `figures` are those of `run`. `wait` pauses and tells whether to go on. Returns the figures at the time of
        `figures`, or None where it was not to go on.
        """
        run = self.start()
        while not server.attached:
            if not wait():
                return None
            server.serve(run.machine, 0.0)
        end_ps = ps(figures.end_us)
        while run.time_ps < end_ps:
            if server.running:
                server.serve(run.machine, 0.0)
            elif not wait():
                return None
            else:
                server.serve(run.machine, _GDB_WAIT_S)
            if server.running:
                server.ran(run.machine, run.advance(end_ps).stop)
        server.exited(run.machine)
        return run.figures()

    def attribute(self, timed: TimedIn, deadline: Deadline) -> Attributed:
        """Run with the time attributed; `timed` finds the intervals in result and sessions. Raises as `run` does."""
        run = self.start()
        run.machine.attribution_start()
        figures = run.to_end(deadline)
        run.machine.attribution_stop()
        if figures.result is None or "error" in figures.result:
            return Attributed(figures, None)
        spans = timed(figures.result, figures.sessions)
        found = attribution(run.machine, spans, figures.sessions, figures.result, self._definition.mcu)
        return Attributed(figures, found)

    def trace(self, figures: Figures, number: int, deadline: Deadline, *, pc_sample_cycles: int = 0) -> ExchangeTrace:
        """Repeat the run with exchange `number` traced; `figures` are those of `run`.

        `pc_sample_cycles`: sample the program counters each so many cycles, 0 for not at all. Raises BoardError if the
        run had no such exchange, or if tracing had changed anything in it.
        """
        window = exchange_window(figures.sessions, number)
        recording = self.record(figures, window, deadline, pc_sample_cycles=pc_sample_cycles)
        return self.exchange(number, window, recording)

    def exchange(self, number: int, window: tuple[float, float], recording: RunRecording) -> ExchangeTrace:
        """Return the part of `recording` in the window of exchange `number`."""
        about = (number, window, recording.frames, recording.records, recording.lost, self.intn_pin, recording.spent)
        return exchange_trace(*about, recording.mcu)

    def record(
        self, figures: Figures, window: tuple[float, float], deadline: Deadline, *, pc_sample_cycles: int = 0
    ) -> RunRecording:
        """Repeat the run with everything recorded between the two times of `window`, in microseconds.

        Raises BoardError if recording had changed anything in the run.
        """
        start_us, end_us = window
        frames: list[SpiFrame] = []
        records: list[dict[str, Any]] = []
        lost = 0
        again = self.start()
        again.machine.attribution_start()  # a moment's cause depends on the time before it and after it
        kinds = [*_KINDS, _PC_KIND] if pc_sample_cycles else _KINDS
        for taken in _watched(again, window, deadline, kinds, pc_sample_cycles):
            room = max(0, _MOST_RECORDS - len(records))
            records += taken.records[:room]
            lost += taken.lost + max(0, len(taken.records) - room)
            frames += taken.frames
        self._end(again, figures, deadline, "tracing it")
        again.machine.attribution_stop()
        frames.sort(key=lambda frame: frame.start_us)
        went = spent(again.machine, start_us, end_us)
        return RunRecording(start_us, end_us, tuple(frames), tuple(records), lost, figures, went, self._definition.mcu)

    def wires(self, figures: Figures, window: tuple[float, float], deadline: Deadline, most_frames: int) -> WireLog:
        """Repeat the run and record the network chip's wires in `window`, in microseconds. Raises as `record`."""
        start_us, end_us = window
        frames: list[SpiFrame] = []
        number = 0
        records: list[dict[str, Any]] = []
        levels: list[tuple[float, bool]] = []
        again = self.start()
        for taken in _watched(again, window, deadline, _WIRE_KINDS):
            number += len(taken.frames)
            frames += taken.frames[: most_frames - len(frames)]
            for record in taken.records:
                if record["kind"] == "lan":
                    records.append(record)
                elif self.intn_pin is not None:
                    high = bool(record["level"] >> self.intn_pin & 1)
                    if not levels or levels[-1][1] != high:
                        levels.append((record["t_us"], high))
        self._end(again, figures, deadline, "tracing it")
        return WireLog(start_us, end_us, tuple(frames), number, tuple(records), tuple(levels))

    def profile(
        self,
        figures: Figures,
        window: tuple[float, float],
        deadline: Deadline,
        *,
        samples_hz: int = 0,
        starts: Sequence[int] = (),
    ) -> dict[str, Any]:
        """Repeat the run with a profile of the time in `window`, as `Machine.profile_take` returns it.

        `samples_hz`: sample the program counters so many times in a simulated second; 0: look at each instruction.
        `starts`: addresses at which functions begin. Adds `hz`, of clk_sys at the end, and `instructions`, those
        that the engine counted. Raises BoardError if that had changed anything in the run.
        """
        start_us, end_us = window
        again = self.start()
        again.run_until(ps(start_us), deadline)
        machine = again.machine
        before = machine.stats()
        try:
            machine.profile_start(max(1, before["clk_sys_hz"] // samples_hz) if samples_hz else 0, starts)
        except EngineError as error:
            raise BoardError(str(error)) from error
        again.run_until(ps(end_us), deadline)
        found = machine.profile_take()
        after = machine.stats()
        found["hz"] = after["clk_sys_hz"]
        found["instructions"] = after["instructions"] - before["instructions"]
        self._end(again, figures, deadline, "profiling it")
        return found

    def capturing(self, capture: Path | None) -> Replay:
        """Return the same replay with its frames written to a pcap file."""
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
        """Return a run at its power-up."""
        return Run(self._definition, self._config, self._flash, self._part)

    def _end(self, run: Run, figures: Figures, deadline: Deadline, doing: str) -> None:
        run.run_until(ps(figures.end_us), deadline)
        if run.figures() != figures:
            raise BoardError(f"{doing} changed the run; the engine is at fault")


def _watched(
    run: Run, window: tuple[float, float], deadline: Deadline, kinds: Sequence[str], pc_sample_cycles: int = 0
) -> Iterator[_Taken]:
    """Run to the end of `window` and yield its recording, slice by slice."""
    start_us, end_us = window
    run.run_until(ps(start_us), deadline)
    machine, end_ps = run.machine, ps(end_us)
    machine.spi_log(True)
    machine.trace_start(kinds, _MOST_RECORDS, pc_sample_cycles or 1)
    while True:
        if run.time_ps >= end_ps:
            machine.trace_stop()
        records, lost = machine.trace_take()
        frames = (SpiFrame(*frame) for frame in machine.spi_log_take())
        yield _Taken([frame for frame in frames if start_us <= frame.start_us < end_us], records, lost)
        if run.time_ps >= end_ps:
            break
        run.run_until(min(end_ps, run.time_ps + run.slice_ps), deadline)
    machine.spi_log(False)
