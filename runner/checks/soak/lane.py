"""One lane of a soak: a bench with its emulated board, kept from cycle to cycle, and the verdict on each cycle."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from portbench.boards import BoardError, BoardUnavailable, Deadline
from portbench.boards.emulated.control import ControlClient
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, read_state
from portbench.boards.timing import host_time
from portbench.boards.usb import UsbBoard
from portbench.boards.usb.bus import EmulatedBus
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.firmware.catalogue import Family
from portbench.results.model import Row, Status
from portbench.results.storage import RunWriter, read
from portbench.runner.bench import Bench
from portbench.runner.checks.soak.desk import DEVICE, NAME, Desk
from portbench.runner.checks.soak.images import ImageMaker
from portbench.runner.checks.soak.leaks import left_behind, open_terminals
from portbench.runner.checks.soak.plan import Cycle, Deed, Strike, plan_cycle
from portbench.runner.jobs.run import new_run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.program import image_store
from portbench.runner.stages import Stage
from portbench.where import Where

_OVERRUN_S = 5.0
"""How far past its deadline a stage may end: what it takes to stop what it had begun."""
_CLOSE_S = 20.0
_CONTROL_S = 10.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass
class Record:
    """The result of a cycle. `status`: measured, failed, skipped or interrupted; the lists are empty if all is well."""

    number: int
    fault: str | None
    struck: bool = False
    status: str = ""
    reason: str = ""
    seconds: float = 0.0
    hangs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


class _Stages:
    """Tells the lane of each stage, so that the fault can strike, and notes stages that took too long."""

    def __init__(self, timeouts_s: dict[Stage, float], lane: Lane) -> None:
        self._timeouts_s = timeouts_s
        self._lane = lane
        self._entered: tuple[Stage, float] | None = None
        self.overruns: list[str] = []

    def __call__(self, what: str) -> None:
        self.leave()
        if (stage := next((each for each in Stage if each == what), None)) is not None:
            self._entered = (stage, host_time())
            self._lane.entered(stage)

    def leave(self) -> None:
        if self._entered is None:
            return
        stage, since = self._entered
        self._entered = None
        took_s, limit_s = host_time() - since, self._timeouts_s.get(stage, 30.0) + _OVERRUN_S
        if took_s > limit_s:
            self.overruns.append(f"{stage} took {took_s:.1f} s")


class Lane:
    """`root`: an empty folder for everything that its boards and runs make."""

    def __init__(
        self, root: Path, planned: PlannedRow, options: BenchOptions, images: ImageMaker, *, on_desk: bool = False
    ) -> None:
        """`on_desk`: on a board that stays, which is restarted by its own command and never by its power."""
        self.folder = root
        self._desk = Desk(planned.board, root / "desk.txt") if on_desk else None
        self._planned = replace(planned, device=DEVICE) if on_desk else planned
        self._images = images
        self._options = replace(options, results_dir=root / "results")
        self._boards, self._locks, self._temporary = root / "b", root / "locks", root / "tmp"
        for folder in (self._boards, self._locks, self._temporary):
            folder.mkdir(parents=True)
        self._bench: Bench | None = None
        self._writer: RunWriter | None = None
        self._view = _Stages(self._options.timeouts_s, self)
        self._rows = 0
        self._strike: Strike | None = None
        self._armed = False
        self._timer: threading.Timer | None = None
        self._second_got_in = False
        self._deed_done = False
        self.last_row: Row | None = None

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
        return plan_cycle(seed, number, console=console, exchanges=exchanges, power=self._desk is None)

    def run(self, cycle: Cycle, others: set[int]) -> Record:
        """One cycle. `others`: the processes of other lanes' boards."""
        self.use()
        record = Record(cycle.number, _fault_of(cycle))
        began_s = time.monotonic()
        if self._desk is not None and (fault := self._of_desk(self._desk.start)) is not None:
            record.status, record.hangs = "failed", [fault]
            return record
        self._strike, self._armed, self._second_got_in = cycle.strike, False, False
        self._deed_done = False
        self._view.overruns.clear()
        profile = replace(self._planned.profile, spi_hz=cycle.spi_hz)
        try:
            entry = self._images.entry_for(cycle.number, cycle.dead)
            if self._bench is None:
                self._writer = RunWriter(new_run(self._options), self._options.results_dir)
                logs = self._writer.path.with_suffix("")
                self._bench = Bench(self._options, image_store([entry], offline=True), logs)
            row = self._bench.measure(replace(self._planned, entry=entry, profile=profile), self._view).row
            assert self._writer is not None  # as old as the bench
            self._writer.append(row)
        except KeyboardInterrupt:
            self._disturb_no_more()
            self._view.leave()
            record.struck = True
            record.status = "interrupted"
            record.lost += self._close()
        else:
            self._disturb_no_more()
            self._view.leave()
            self.last_row = row
            self._rows += 1
            record.status, record.reason = str(row.status), row.reason or ""
            record.lost += self._judge(row, cycle)
            record.struck = self._disarm() or (self._armed and row.status is not Status.MEASURED)
            if cycle.dead is not None:
                record.struck = row.status is Status.FAILED
                record.lost += _judge_dead(row)
            if not record.struck and row.status is not Status.MEASURED:
                record.lost.append(f"nothing went wrong, but the row is {row.status}: {row.reason}")
            if self._desk is not None and self._desk.runs and row.status is Status.FAILED:
                fault = self._of_desk(self._desk.hold_bootsel)
                record.hangs += [] if fault is None else [fault]
            if self._deed_done and row.status is Status.MEASURED:  # too late for this row, and not to hit the next
                record.lost += self._close()
        record.hangs += self._view.overruns
        if self._bench is None:
            record.leaks += self._left_behind(others)
        else:
            record.leaks += [f"port {name}" for name in open_terminals()]
            if len(self.board_pids) > 1:
                record.leaks.append(f"{len(self.board_pids)} board processes for one board")
        if self._second_got_in:
            record.leaks.append("a second harness got the board")
        record.seconds = time.monotonic() - began_s
        return record

    def end(self, others: set[int]) -> Record:
        """End the bench; the record has everything that is then left over or lost."""
        self.use()
        record = Record(-1, None, status="end")
        began_s = host_time()
        if self._bench is not None and self._writer is not None:
            self._writer.finish()
            record.lost += self._close()
        record.seconds = host_time() - began_s
        if record.seconds > _CLOSE_S:
            record.hangs.append(f"closing took {record.seconds:.1f} s")
        if self._desk is not None:
            fault = self._of_desk(self._desk.sweep)
            record.hangs += [] if fault is None else [fault]
            self._desk.end()
        record.leaks += left_behind([self._boards, self._locks, self._temporary], others)
        return record

    def _of_desk(self, do: Callable[[], None]) -> str | None:
        """Use the desk's board. An error is returned as a line; the next cycle starts the board again."""
        assert self._desk is not None
        try:
            do()
        except BoardError as error:
            self._desk.end()
            return str(error)
        return None

    def _left_behind(self, others: set[int]) -> list[str]:
        """The leaks of a closed bench; the board on the desk has to be there as before."""
        if self._desk is None or not self._desk.runs:
            return left_behind([self._boards, self._locks, self._temporary], others)
        found = left_behind([self._locks, self._temporary], others | self.board_pids)
        return found + [f"folder {folder}" for folder in self._boards.iterdir() if folder.name != NAME]

    def entered(self, stage: Stage) -> None:
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
        """Stop the timer, so that it does not hit the next cycle; Ctrl-C may come until it has ended."""
        timer, self._timer = self._timer, None
        if timer is None:
            return
        with contextlib.suppress(KeyboardInterrupt):
            if timer.is_alive():
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

    def _judge(self, row: Row, cycle: Cycle) -> list[str]:
        """The lost results: a row that is not on disk, or figures of another run."""
        assert self._writer is not None
        lost = []
        stored = read(self._writer.path).rows
        if len(stored) != self._rows:
            lost.append(f"{len(stored)} rows on disk after {self._rows} cycles")
        elif stored[-1] != row:
            lost.append("the row on disk is another one")
        if row.where is not Where.EMULATED:
            lost.append(f"the row says {row.where}, and the board is emulated")
        if row.status is Status.MEASURED:
            actual = row.conditions.spi_hz_actual or 0
            if row.settings != self._planned.settings.model_dump(mode="json"):
                lost.append(f"measured with {row.settings}, not {self._planned.settings}")
            if (
                self._planned.entry.family is not Family.CIRCUITPYTHON
                and not 0.5 * cycle.spi_hz < actual <= cycle.spi_hz
            ):
                lost.append(f"measured at {actual} Hz although {cycle.spi_hz} Hz were asked: another image ran")
        elif not row.reason or "\n" in row.reason:
            lost.append("the row does not say why it failed")
        return lost

    def _close(self) -> list[str]:
        """End the bench as Ctrl-C or the end of a session does; the rows that its file lost."""
        bench, self._bench = self._bench, None
        rows, self._rows = self._rows, 0
        if bench is None or self._writer is None:
            return []
        bench.close()
        self._writer.close()
        stored = read(self._writer.path).rows
        return [] if len(stored) == rows else [f"{len(stored)} rows on disk after {rows} cycles and a close"]


def _fault_of(cycle: Cycle) -> str | None:
    if cycle.dead is not None:
        return f"dead image, {cycle.dead}"
    return cycle.strike.name if cycle.strike else None


def _judge_dead(row: Row) -> list[str]:
    """A dead image has no figures, and its row says why before any deadline."""
    if row.status is not Status.FAILED:
        return [f"a dead image's row is {row.status}"]
    return [f"waited for a dead image: {row.reason}"] if "still waiting" in (row.reason or "") else []
