"""A measured run in this process, from a flash content: as often as wanted, always the same, and open to be traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portbench._engine import EngineError, Machine
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.attribution import attribution
from portbench.boards.emulated.bootrom import bootrom
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.trace import ExchangeTrace, exchange_trace, exchange_window
from portbench.boards.errors import BoardError
from portbench.boards.timing import Deadline
from portbench.server.simulated_pc import Part, SimulatedPc, part_in
from portbench.workloads import Session, Timed

_SLICE_US = 2000.0
_HALF_PS_US = 5e-7
"""The engine counts picoseconds and cuts off what is less."""
_KINDS = ("irq", "lan", "pins")
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
class Attributed:
    """A run, and where its time went in the form of `results.attribution.Attribution`; None: that cannot be told."""

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
        return self._start().to_end(deadline)

    def attribute(self, timed: Callable[[Mapping[str, Any]], Sequence[Timed]], deadline: Deadline) -> Attributed:
        """The run with its time attributed; `timed` tells what its result holds. Raises as `run` does."""
        run = self._start()
        run.machine.attribution_start()
        figures = run.to_end(deadline)
        run.machine.attribution_stop()
        if figures.result is None or "error" in figures.result:
            return Attributed(figures, None)
        found = attribution(run.machine, timed(figures.result), figures.sessions, figures.result)
        return Attributed(figures, found)

    def trace(self, figures: Figures, number: int, deadline: Deadline, *, pc_sample_cycles: int = 0) -> ExchangeTrace:
        """The run once more with exchange `number` traced; `figures` are those of `run`.

        `pc_sample_cycles`: sample the program counters each so many cycles, 0 for not at all. Raises BoardError if the
        run had no such exchange, or if tracing had changed anything in it.
        """
        start_us, end_us = exchange_window(figures.sessions, number)
        again = self._start()
        again.until(start_us, deadline)
        machine = again.machine
        machine.spi_log(True)
        kinds = [*_KINDS, _PC_KIND] if pc_sample_cycles else _KINDS
        machine.trace_start(kinds, _MOST_RECORDS, pc_sample_cycles or 1)
        again.until(end_us, deadline)
        machine.trace_stop()
        records, lost = machine.trace_take()
        again.until(figures.end_us, deadline)
        frames = machine.spi_log_take()
        machine.spi_log(False)
        if again.figures() != figures:
            raise BoardError(f"exchange {number}: tracing it changed the run; the engine's trace is at fault")
        network = self._definition.network
        intn_pin = None if network is None else network.intn_pin
        return exchange_trace(number, (start_us, end_us), frames, records, lost, intn_pin)

    def _start(self) -> _Run:
        machine = Machine(bootrom(), self._flash, self._config.settings(self._definition))
        return _Run(machine, self._config, self._part, self._definition.network is not None)


class _Run:
    def __init__(self, machine: Machine, config: EmulatedConfig, part: Part, networked: bool) -> None:
        self.machine = machine
        pc = SimulatedPc(machine, config.server_port if networked else None, config.turnaround_us, part)
        # Not by `self`: the machine is to go, and its capture to be whole, as soon as nobody has this run any more.
        self._console = Console(lambda line: pc.heard(line, machine.console_time_us))
        self._pc = pc

    def to_end(self, deadline: Deadline) -> Figures:
        while self._result is None:
            deadline.check(f"the result; the board printed {self._console.tail(3)}")
            self._step(self.machine.time_us + _SLICE_US)
            if (fault := self._pc.given_up(self.machine.time_us)) is not None:
                raise BoardError(f"emulated board: {fault}")
        return self.figures()

    def until(self, time_us: float, deadline: Deadline) -> None:
        while self.machine.time_us < time_us:
            deadline.check(f"simulated time {time_us:.0f} us")
            self._step(time_us + _HALF_PS_US)

    def figures(self) -> Figures:
        return Figures(self._result, self._pc.sessions(), self.machine.time_us, self.machine.stats())

    @property
    def _result(self) -> dict[str, Any] | None:
        reports = (session.report for session in self._pc.sessions())
        return self._console.result or next((report for report in reports if report is not None), None)

    def _step(self, until_us: float) -> None:
        try:
            self.machine.run(until_us)
        except EngineError as error:
            raise BoardError(f"emulated board: {error}") from error
        self.machine.usb_events()
        self._console.feed(self.machine.console_read())
