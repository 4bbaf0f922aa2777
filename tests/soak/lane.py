"""One lane of the soak: rows on a desk's board, which stays from cycle to cycle, and the verdict on each of them."""

import contextlib
import json
import os
import re
import signal
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
from portbench.boards.desk.faults import Fault, When
from portbench.boards.desk.started import StartedDesk
from portbench.boards.registry import read_state
from portbench.boards.timing import host_time
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.bus import EmulatedBus
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Uf2File, entry_for_file
from portbench.results.model import Row, Status
from portbench.results.storage import RunWriter, read
from portbench.runner.jobs.job import Rows
from portbench.runner.jobs.run import Run, new_run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.progress import ProgressView
from portbench.runner.stages import DEFAULT_S, Stage
from portbench.where import Where
from tests import dead_images
from tests.dead_images import DeadImage
from tests.soak.leaks import Leaks
from tests.soak.plan import Cycle, Deed, Strike, plan_cycle
from tests.soak.record import Record

_TIMEOUTS_S: Final = {stage: min(limit_s, 40.0) for stage, limit_s in DEFAULT_S.items()} | {Stage.READY: 8.0}
"""Short: a fault that nothing ends costs the soak the whole stage."""
_OVERRUN_S: Final = 5.0
"""Time after its deadline in which a stage may still end: it has to stop what it had begun."""
_START_S: Final = 60.0
_LOOK_S: Final = 0.02
_DESK: Final = "desk"
_STAMP: Final = uf2.FLASH_BASE + 0xFF000
"""Flash that neither MicroPython nor CircuitPython runs from: between the firmware and the file system (CircuitPython
keeps its `microcontroller.nvm` there)."""


class _Stages(ProgressView):
    """Tells the lane of each stage."""

    def __init__(self, rows: int, entered: Callable[[Stage | None], None]) -> None:
        super().__init__(rows, Console(quiet=True))
        self._entered = entered

    def doing(self, label: str, what: str) -> None:
        self._entered(next((stage for stage in Stage if stage == what), None))


class Lane:
    """`root`: the folders of this process, see `own_folders`. `image`: the runtime's.

    `power_switch`: runs begin by the board's power, else by its own command, as on a USB cable.
    """

    def __init__(self, root: Path, runtime: str, image: Path, *, run_s: float, power_switch: bool) -> None:
        self.folder = root
        self._boards, self._locks, self._temporary = root / "b", root / "locks", root / "tmp"
        self._options = BenchOptions().but(
            where="emulated",
            runtimes=(runtime,),
            quick=True,
            runs=1,
            timeouts_s=_TIMEOUTS_S | {Stage.RUN: run_s},
            address_mode="static",
            results_dir=root / "results",
        )
        self._planned = replace(plan(self._options)[0], device=f"usb:{_DESK}")
        self._traits = self._planned.entry.family.traits
        self._image = None if self._traits.client_in_image else uf2.read(image)
        self._config = json.dumps({"power_switch": power_switch})
        self._leaks = Leaks()
        self._desk: StartedDesk | None = None
        self._stage: tuple[Stage | None, float] = (None, 0.0)
        self._timer: threading.Timer | None = None
        self._armed = self._deed_done = False

    @property
    def board_pids(self) -> set[int]:
        return {state.pid for folder in self._boards.iterdir() if (state := read_state(folder)) is not None}

    def plan(self, seed: int, number: int) -> Cycle:
        """Cycle `number` of the soak with `seed`, as this lane can run it."""
        exchanges = self._planned.workload.exchanges(self._planned.settings)
        return plan_cycle(seed, number, console=self._traits.has_console, exchanges=exchanges)

    def run(self, cycles: Sequence[Cycle]) -> Iterator[Record]:
        """Yields the record of each cycle. All are rows of one run; one that is interrupted is followed by another.

        The last record of a run has the troubles of its end, too.
        """
        left = deque(cycles)
        while left:
            yield from self._one_run(left)

    def close(self) -> None:
        desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()

    def _one_run(self, left: deque[Cycle]) -> Iterator[Record]:
        """Cycles of `left`, which are taken from it, measured in one run."""
        writer = RunWriter(new_run(self._options), self._options.output.results_dir)
        rows: list[Row] = []
        planned = [self._row(cycle) for cycle in left]
        run = Run(planned, self._options, view=_Stages(len(left), self._entered), writer=writer)
        with run, contextlib.closing(run.measured()) as coming:
            while True:
                cycle = self._cycle = left.popleft()
                record = self._record = Record(cycle.number, str(cycle.strike) if cycle.strike else None)
                if not self._of_desk(self._start):
                    record.status = "failed"
                    break
                began_s = time.monotonic()
                self._measure(coming, rows)
                record.lost += _lost(rows, writer.path)
                record.seconds = time.monotonic() - began_s
                if not left or self._ends_run():
                    break
                record.leaks += self._leaks.terminals()
                yield record
        record.lost += _lost(rows, writer.path)
        if self._desk is not None:
            self._of_desk(self._start)  # which removes what a killed board has left
        record.leaks += self._left_behind()
        if not left:
            self.close()
            record.leaks += self._left_behind()
        yield record

    def _row(self, cycle: Cycle) -> PlannedRow:
        """A row whose image is another one than that of the cycle before, so that each flashes: it differs by a stamp.
        The native client's differ by their settings anyway."""
        planned, entry, path = self._planned, self._planned.entry, self.folder / f"{cycle.number}.uf2"
        if cycle.strike is not None and isinstance(cycle.strike.what, DeadImage):
            dead_images.write(path, cycle.strike.what, entry.family, re.sub(r"[^0-9.].*", "", entry.version or ""))
        elif self._image is not None:
            path.write_bytes(uf2.with_data(self._image, _STAMP, b"portbench soak %d" % cycle.number))
        if path.exists():
            file = Uf2File.read(path)
            entry = entry_for_file(file, family=entry.family, board=planned.board.id, version=entry.version)
        return replace(planned, entry=entry, profile=replace(planned.profile, spi_hz=cycle.spi_hz))

    def _measure(self, coming: Rows, rows: list[Row]) -> None:
        """The row of the current cycle, while its strike comes."""
        self._armed = self._deed_done = False
        try:
            _, row = next(coming)
        except KeyboardInterrupt:
            self._disturb_no_more()
            self._record.struck, self._record.status = True, "interrupted"
        else:
            self._disturb_no_more()
            rows.append(row)
            self._judge(row)
        self._entered(None)

    def _ends_run(self) -> bool:
        """True if the run ends with this cycle: interrupted, or struck too late to hit this row and not the next."""
        status, strike = self._record.status, self._cycle.strike
        interrupts = strike is not None and strike.what is Deed.CTRL_C
        return status == "interrupted" or (self._deed_done and (status == "measured" or interrupts))

    def _start(self) -> None:
        """Start the desk's board, unless it runs, and wait until it is on the bus. Raises BoardError."""
        if self._desk is not None and self._desk.runs:
            return
        self.close()
        desk = self._desk = StartedDesk(self._planned.board.id, self._config, _DESK, log=self.folder / "desk.txt")
        Deadline(_START_S, _DESK).poll(
            lambda: (state := desk.state()) is not None and state.usb_vid is not None, _LOOK_S, "its process to start"
        )

    def _hold_bootsel(self) -> None:
        """Plug the board in again with BOOTSEL held, as a person does with a board that does not answer."""
        assert self._desk is not None
        try:
            self._control("power_cycle", bootsel=True)
        except BoardError:
            if not self._desk.ended():  # a process that was killed may take a moment to go
                raise

    def _of_desk(self, do: Callable[[], None]) -> bool:
        """Use the desk's board. An error is a hang; the next cycle starts the board again."""
        try:
            do()
        except BoardError as error:
            self.close()
            self._record.hangs.append(str(error))
            return False
        return True

    def _control(self, op: str, **arguments: object) -> dict[str, object]:
        """Raises BoardError."""
        assert self._desk is not None
        with contextlib.closing(ControlClient(self._desk.folder, _DESK)) as control:
            return control.call(op, Deadline(_START_S, _DESK), **arguments)

    def _left_behind(self) -> list[str]:
        """The leaks of a run that has ended; the board on the desk has to be there as before."""
        if self._desk is None:
            return self._leaks.found([self._boards, self._locks, self._temporary])
        found = self._leaks.found([self._locks, self._temporary], self.board_pids)
        return found + [f"folder {folder}" for folder in self._boards.iterdir() if folder.name != _DESK]

    def _entered(self, stage: Stage | None) -> None:
        """A stage begins, or none: the last one may have taken too long, and the strike may be due."""
        (before, since_s), self._stage = self._stage, (stage, host_time())
        limit_s = self._options.how.timeouts_s.get(before, 30.0) + _OVERRUN_S if before else float("inf")
        if host_time() - since_s > limit_s:
            self._record.hangs.append(f"{before} took {host_time() - since_s:.1f} s")
        strike = self._cycle.strike
        if strike is None or _armed_in(strike) is not stage or self._armed:
            return
        self._armed = True
        if isinstance(strike.what, Fault):
            self._control("arm", fault=strike.what.settings())
        elif strike.what is Deed.SECOND_HARNESS:
            self._second_harness()
        elif isinstance(strike.what, Deed):
            self._timer = threading.Timer(strike.delay_ms / 1e3, self._do, [strike.what])
            self._timer.start()

    def _do(self, deed: Deed) -> None:
        self._deed_done = True
        if deed is Deed.CTRL_C:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            for pid in self.board_pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _disturb_no_more(self) -> None:
        """Stop the timer, so that it does not hit the next cycle."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            timer.join()
            time.sleep(0)  # delivers a pending signal

    def _second_harness(self) -> None:
        assert self._desk is not None
        bus = EmulatedBus(self._desk.folder)
        try:
            second = UsbBoard(self._planned.board, bus=bus, choose=lambda devices: devices[0] if devices else None)
        except BoardUnavailable:
            return
        self._record.leaks.append("a second harness got the board")
        second.close()

    def _struck(self, row: Row) -> bool:
        """End the fault. Whether it had struck."""
        what = self._cycle.strike and self._cycle.strike.what
        if isinstance(what, Fault):
            with contextlib.suppress(BoardError):  # the board was dropped with its failed row
                if self._control("disarm")["struck"]:
                    return True
        return self._armed and (row.status is not Status.MEASURED or what is Deed.SECOND_HARNESS)

    def _judge(self, row: Row) -> None:
        """Enter the row and its faults into the record: it is of another run, or does not say why."""
        record, cycle = self._record, self._cycle
        record.status, record.reason = str(row.status), row.reason or ""
        record.struck = self._struck(row)
        if not record.struck and row.status is not Status.MEASURED:
            record.lost.append(f"nothing went wrong, but the row is {row.status}: {row.reason}")
        if row.status is Status.FAILED and self._desk is not None and self._desk.runs:
            self._of_desk(self._hold_bootsel)
        if cycle.strike is not None and isinstance(cycle.strike.what, DeadImage):
            if row.status is not Status.FAILED:
                record.lost.append(f"a dead image's row is {row.status}")
            if "still waiting" in record.reason:
                record.lost.append(f"waited for a dead image: {row.reason}")
        if row.where is not Where.EMULATED:
            record.lost.append(f"the row says {row.where}, and the board is emulated")
        if row.status is Status.MEASURED:
            actual = row.conditions.spi_hz_actual or 0
            if row.settings != self._planned.settings.model_dump(mode="json"):
                record.lost.append(f"measured with {row.settings}, not {self._planned.settings}")
            exact = self._planned.entry.family is not Family.CIRCUITPYTHON
            if exact and not 0.5 * cycle.spi_hz < actual <= cycle.spi_hz:
                record.lost.append(f"measured at {actual} Hz although {cycle.spi_hz} Hz were asked: another image ran")
        elif not row.reason or "\n" in row.reason:
            record.lost.append("the row does not say why it failed")


def _armed_in(strike: Strike) -> Stage:
    """The stage that begins when the strike is armed. A flashed client may get its answers before a busy PC notices."""
    counts_answers = isinstance(strike.what, Fault) and strike.what.when is When.ANSWERED
    return Stage.FLASH if counts_answers else strike.stage


def _lost(rows: Sequence[Row], path: Path) -> list[str]:
    """A line if the file has other rows than these."""
    stored = read(path).rows
    if len(stored) != len(rows):
        return [f"{len(stored)} rows on disk after {len(rows)} cycles"]
    return [] if stored == rows else ["a row on disk is another one"]
