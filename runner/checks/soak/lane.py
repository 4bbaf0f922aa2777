"""One lane of a soak: runs on a desk's board, which stays from cycle to cycle, and the verdict on each cycle."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from portbench.boards import BoardError, BoardUnavailable, Deadline
from portbench.boards.desk.control import ControlClient
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, read_state
from portbench.boards.timing import host_time
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.bus import EmulatedBus
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.firmware.catalogue import Family
from portbench.results.model import Row, Status
from portbench.results.storage import RunWriter, read
from portbench.runner.checks.soak.desk import DEVICE, NAME, Desk
from portbench.runner.checks.soak.images import ImageMaker
from portbench.runner.checks.soak.leaks import left_behind, open_terminals
from portbench.runner.checks.soak.plan import Cycle, Deed, Strike, plan_cycle
from portbench.runner.checks.soak.record import Record
from portbench.runner.jobs.run import Run, new_run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.progress import ProgressView
from portbench.runner.stages import Stage
from portbench.where import Where

_OVERRUN_S = 5.0
"""How far past its deadline a stage may end: what it takes to stop what it had begun."""
_CONTROL_S = 10.0
_RUN_CYCLES: Final = 20
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class _Stages(ProgressView):
    """Tells the lane of each stage, so that the fault can strike, and notes stages that took too long."""

    def __init__(self, rows: int, timeouts_s: dict[Stage, float], entered: Callable[[Stage], None]) -> None:
        super().__init__(rows, Console(quiet=True))
        self._timeouts_s = timeouts_s
        self._tell = entered
        self._entered: tuple[Stage, float] | None = None
        self._overruns: list[str] = []

    def doing(self, label: str, what: str) -> None:
        self._leave()
        if (stage := next((each for each in Stage if each == what), None)) is not None:
            self._entered = (stage, host_time())
            self._tell(stage)

    def overruns(self) -> list[str]:
        """Leave the last stage of a row: the stages of this row that took too long."""
        self._leave()
        found, self._overruns = self._overruns, []
        return found

    def _leave(self) -> None:
        if self._entered is None:
            return
        stage, since = self._entered
        self._entered = None
        took_s, limit_s = host_time() - since, self._timeouts_s.get(stage, 30.0) + _OVERRUN_S
        if took_s > limit_s:
            self._overruns.append(f"{stage} took {took_s:.1f} s")


class Lane:
    """`root`: an empty folder for everything that its boards and runs make."""

    def __init__(
        self, root: Path, planned: PlannedRow, options: BenchOptions, images: ImageMaker, *, power_switch: bool
    ) -> None:
        self.folder = root
        self._desk = Desk(planned.board, root / "desk.txt", power_switch=power_switch)
        self._planned = replace(planned, device=DEVICE)
        self._images = images
        self._options = replace(options, results_dir=root / "results")
        self._boards, self._locks, self._temporary = root / "b", root / "locks", root / "tmp"
        for folder in (self._boards, self._locks, self._temporary):
            folder.mkdir(parents=True)
        self._strike: Strike | None = None
        self._armed = False
        self._timer: threading.Timer | None = None
        self._second_got_in = False
        self._deed_done = False

    def use(self) -> None:
        """Make this lane's folders those of this process's boards, locks and temporary files."""
        os.environ[RUNTIME_DIR_VARIABLE] = str(self._boards)
        os.environ[LOCK_DIR_VARIABLE] = str(self._locks)
        tempfile.tempdir = str(self._temporary)

    @property
    def board_pids(self) -> set[int]:
        return {state.pid for folder in self._boards.iterdir() if (state := read_state(folder)) is not None}

    def plan(self, seed: int, number: int) -> Cycle:
        """Cycle `number` of the soak with `seed`, as this lane can run it."""
        planned = self._planned
        console = planned.entry.family.traits.has_console
        exchanges = planned.workload.exchanges(planned.settings)
        return plan_cycle(seed, number, console=console, exchanges=exchanges)

    def run(self, cycles: Sequence[Cycle]) -> Iterator[Record]:
        """The record of each cycle, and one of each end of a run, as `portbench run` ends it.

        A run has the rows of up to `_RUN_CYCLES` cycles; one that is interrupted is followed by another.
        """
        self.use()
        left = deque(cycles)
        while left:
            yield from self._one_run(left)
        yield self._over()

    def _one_run(self, left: deque[Cycle]) -> Iterator[Record]:
        """Cycles of `left`, which are taken from it, measured in one run."""
        cycles = [left[place] for place in range(min(_RUN_CYCLES, len(left)))]
        writer = RunWriter(new_run(self._options), self._options.results_dir)
        stages = _Stages(len(cycles), self._options.timeouts_s, self._entered)
        rows: list[Row] = []
        record = None
        with (
            Run([self._row(cycle) for cycle in cycles], self._options, view=stages, writer=writer) as run,
            contextlib.closing(run.measured()) as coming,
        ):
            for cycle in cycles:
                left.popleft()
                began_s = time.monotonic()
                record = Record(cycle.number, _fault_of(cycle))
                if (fault := self._of_desk(self._desk.start)) is not None:
                    record.status, record.hangs = "failed", [fault]
                    break
                self._prepare(cycle)
                try:
                    _, row = next(coming)
                except KeyboardInterrupt:
                    self._disturb_no_more()
                    record.struck, record.status = True, "interrupted"
                else:
                    self._disturb_no_more()
                    rows.append(row)
                    self._judge(record, row, cycle)
                    record.lost += _lost(rows, writer.path)
                record.hangs += stages.overruns()
                record.seconds = time.monotonic() - began_s
                if self._must_end(record):
                    break
                record.leaks += [f"port {name}" for name in open_terminals()]
                if len(self.board_pids) > 1:
                    record.leaks.append(f"{len(self.board_pids)} board processes for one board")
                yield record
                record = None
        record = record or _end()
        record.lost += _lost(rows, writer.path)
        self._sweep(record)
        record.leaks += self._left_behind()
        yield record

    def _row(self, cycle: Cycle) -> PlannedRow:
        entry = self._images.entry_for(cycle.number, cycle.dead)
        return replace(self._planned, entry=entry, profile=replace(self._planned.profile, spi_hz=cycle.spi_hz))

    def _prepare(self, cycle: Cycle) -> None:
        self._strike, self._armed = cycle.strike, False
        self._second_got_in = self._deed_done = False

    def _must_end(self, record: Record) -> bool:
        """Whether the run ends with this cycle: interrupted, or struck too late to hit this row and not the next."""
        return record.status == "interrupted" or (
            self._deed_done
            and (record.status == "measured" or (self._strike is not None and self._strike.deed is Deed.CTRL_C))
        )

    def _over(self) -> Record:
        """End the board on the desk; the record has everything that is then left over."""
        record = _end()
        self._sweep(record)
        self._desk.end()
        record.leaks += self._left_behind()
        return record

    def _sweep(self, record: Record) -> None:
        """Remove what a killed board on the desk has left, as its next start does."""
        fault = self._of_desk(self._desk.sweep)
        record.hangs += [] if fault is None else [fault]

    def _of_desk(self, do: Callable[[], None]) -> str | None:
        """Use the desk's board. An error is returned as a line; the next cycle starts the board again."""
        try:
            do()
        except BoardError as error:
            self._desk.end()
            return str(error)
        return None

    def _left_behind(self) -> list[str]:
        """The leaks of a run that has ended; the board on the desk has to be there as before."""
        if not self._desk.runs:
            return left_behind([self._boards, self._locks, self._temporary], set())
        found = left_behind([self._locks, self._temporary], self.board_pids)
        return found + [f"folder {folder}" for folder in self._boards.iterdir() if folder.name != NAME]

    def _entered(self, stage: Stage) -> None:
        """Take note that a stage of the current row begins."""
        strike = self._strike
        if strike is None or strike.stage is not stage or self._armed:
            return
        self._armed = True
        if strike.deed is Deed.SECOND_HARNESS:
            self._second_harness()
        elif strike.deed is not None:
            self._timer = threading.Timer(strike.delay_ms / 1e3, self._do, [strike.deed])
            self._timer.start()
        for fault in strike.faults:
            with self._control() as control:
                control.call("arm", Deadline(_CONTROL_S, "soak"), fault=fault.settings())

    def _do(self, deed: Deed) -> None:
        self._deed_done = True
        if deed is Deed.CTRL_C:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            for pid in self.board_pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, _KILL)

    def _disturb_no_more(self) -> None:
        """Stop the timer, so that it does not hit the next cycle."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            timer.join()
            time.sleep(0)  # delivers a pending signal

    def _second_harness(self) -> None:
        folder = next(iter(sorted(self._boards.iterdir())))
        try:
            second = UsbBoard(
                self._planned.board, bus=EmulatedBus(folder), choose=lambda devices: devices[0] if devices else None
            )
        except BoardUnavailable:
            return
        self._second_got_in = True
        second.close()

    @contextlib.contextmanager
    def _control(self) -> Iterator[ControlClient]:
        folders = [folder for folder in self._boards.iterdir() if read_state(folder) is not None]
        if not folders:
            raise BoardError("soak: the lane has no board")
        control = ControlClient(folders[0], "soak")
        try:
            yield control
        finally:
            control.close()

    def _disarm(self) -> bool:
        """End all faults; whether one of them had struck."""
        strike = self._strike
        if strike is None:
            return False
        if strike.deed is not None:
            return self._armed and strike.deed is Deed.SECOND_HARNESS
        try:
            with self._control() as control:
                return bool(control.call("disarm", Deadline(_CONTROL_S, "soak"))["struck"])
        except BoardError:
            return False  # the board was dropped with its failed row

    def _judge(self, record: Record, row: Row, cycle: Cycle) -> None:
        """Enter the row and its faults into the record: it is of another run, or does not say why."""
        record.status, record.reason = str(row.status), row.reason or ""
        record.struck = self._disarm() or (self._armed and row.status is not Status.MEASURED)
        if cycle.dead is not None:
            record.struck = row.status is Status.FAILED
            record.lost += _judge_dead(row)
        if not record.struck and row.status is not Status.MEASURED:
            record.lost.append(f"nothing went wrong, but the row is {row.status}: {row.reason}")
        if self._desk.runs and row.status is Status.FAILED:
            fault = self._of_desk(self._desk.hold_bootsel)
            record.hangs += [] if fault is None else [fault]
        if self._second_got_in:
            record.leaks.append("a second harness got the board")
        if row.where is not Where.EMULATED:
            record.lost.append(f"the row says {row.where}, and the board is emulated")
        if row.status is Status.MEASURED:
            actual = row.conditions.spi_hz_actual or 0
            if row.settings != self._planned.settings.model_dump(mode="json"):
                record.lost.append(f"measured with {row.settings}, not {self._planned.settings}")
            if (
                self._planned.entry.family is not Family.CIRCUITPYTHON
                and not 0.5 * cycle.spi_hz < actual <= cycle.spi_hz
            ):
                record.lost.append(f"measured at {actual} Hz although {cycle.spi_hz} Hz were asked: another image ran")
        elif not row.reason or "\n" in row.reason:
            record.lost.append("the row does not say why it failed")


def _lost(rows: Sequence[Row], path: Path) -> list[str]:
    """A line if the file has other rows than these."""
    stored = read(path).rows
    if len(stored) != len(rows):
        return [f"{len(stored)} rows on disk after {len(rows)} cycles"]
    return [] if stored == rows else ["a row on disk is another one"]


def _end() -> Record:
    """Of no cycle, but of the end of a run."""
    return Record(-1, None, status="end")


def _fault_of(cycle: Cycle) -> str | None:
    if cycle.dead is not None:
        return f"dead image, {cycle.dead}"
    return cycle.strike.name if cycle.strike else None


def _judge_dead(row: Row) -> list[str]:
    """A dead image has no figures, and its row says why before any deadline."""
    if row.status is not Status.FAILED:
        return [f"a dead image's row is {row.status}"]
    return [f"waited for a dead image: {row.reason}"] if "still waiting" in (row.reason or "") else []
