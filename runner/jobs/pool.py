"""Rows of emulated boards, measured by processes of this PC. The row of a killed process is repeated."""

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware.images import ImageStore
from portbench.runner.bench import Bench
from portbench.runner.boards_for import where_for
from portbench.runner.collect import RowDraft
from portbench.runner.jobs.job import Rows, Watch
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.program import image_store
from portbench.signals import ENDING

_TRIES: Final = 2
"""A process may be killed for want of memory, which there may be the next time."""
_END_S: Final = 3.0
"""For a process to end, once nothing more is wanted of it."""


def program_of(row: PlannedRow) -> str:
    """Rows with the same are of one program, which is flashed and deployed once."""
    profile = row.profile
    return f"{row.entry.id} {profile.name} {profile.spi_hz} {profile.intn} {row.workload.name}"


@dataclass(frozen=True)
class Unit:
    """A row's program, and the weight by which one of several programs begins first: its image's bytes."""

    program: str
    weight: int = 0


class Order:
    """The heaviest program begins first, so that no process is left with it at the end.

    A process keeps its program, and takes a row of another's only where all programs have begun.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        """`units` in the order in which equals are measured."""
        self._units = units
        self._waiting = list(range(len(units)))
        self._begun: set[str] = set()

    def next(self, own: str | None) -> int | None:
        """The place of the unit for a process that has the program `own`; None where none is left."""
        if not self._waiting:
            return None
        chosen = self._choose(own)
        self._waiting.remove(chosen)
        self._begun.add(self._units[chosen].program)
        return chosen

    def again(self, place: int) -> None:
        """A unit that was not measured after all."""
        self._waiting.insert(0, place)

    def _choose(self, own: str | None) -> int:
        programs = [self._units[place].program for place in self._waiting]
        if own in programs:
            return self._waiting[programs.index(own)]
        fresh = [place for place in self._waiting if self._units[place].program not in self._begun]
        if fresh:
            return max(fresh, key=lambda place: self._units[place].weight)
        left = {program: programs.count(program) for program in set(programs)}
        return max(self._waiting, key=lambda place: self._units[place].weight * left[self._units[place].program])


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in processes started here, until they are ready to ignore it."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # to start it would unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """A process, and the row that it measures."""

    def __init__(self, *parts: Any) -> None:
        # A new interpreter has none of this process's threads, and none of its other ends of pipes.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, *parts), daemon=True)
        with _interrupts_blocked():
            self._process.start()
        theirs.close()
        self.place: int | None = None
        self.program: str | None = None

    def begin(self, place: int, row: PlannedRow) -> None:
        self.place, self.program = place, program_of(row)
        with contextlib.suppress(OSError):  # it has died: seen where its answer is read
            self.connection.send(row)

    def end(self) -> None:
        """Close the pipe, as the end of this process would: the other one sees it."""
        self.connection.close()

    def ended(self) -> int | None:
        """Its exit status, once it is gone."""
        self._process.join(_END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return self._process.exitcode


def measure_in_processes(
    rows: Sequence[PlannedRow], options: BenchOptions, store: ImageStore, logs: Path, processes: int, watch: Watch
) -> Rows:
    """Closing the iterator ends what still runs. Raises what no row can follow, with all rows before it given."""
    order = Order([Unit(program_of(row), store.bytes_at_hand(row.entry)) for row in rows])
    lost = [0] * len(rows)
    folder = TemporaryFolder("portbench-jobs")
    workers: list[_Worker] = []

    def give(worker: _Worker | None) -> None:
        place = order.next(worker.program if worker else None)
        if place is None:
            return
        if worker is None:
            worker = _Worker(options, rows, logs, folder.path)
            workers.append(worker)
        worker.begin(place, rows[place])

    try:
        for _ in range(min(processes, len(rows))):
            give(None)
        while busy := {each.connection: each for each in workers if each.place is not None}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]  # of these alone
                place = worker.place
                assert place is not None
                row = rows[place]
                try:
                    answer = worker.connection.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.end()
                    status = worker.ended()
                    lost[place] += 1
                    if lost[place] < _TRIES:
                        order.again(place)
                    else:
                        draft = RowDraft(row, where_for(row))
                        yield row, draft.failed(f"its process ended with status {status}, {_TRIES} times", [])
                    give(None)
                    continue
                if isinstance(answer, str):
                    watch(row, answer)
                    continue
                if isinstance(answer, Exception):
                    raise answer
                worker.place = None
                yield row, answer.row  # which is stored before the process begins another
                if answer.fault is not None:
                    raise answer.fault
                give(worker)
    finally:
        for worker in workers:
            worker.end()
        for worker in workers:
            worker.ended()
        folder.remove()


def _work(connection: Connection, options: BenchOptions, rows: Sequence[PlannedRow], logs: Path, folder: Path) -> None:
    """Measures the rows that come until the pipe closes, because all are measured or the process at its end is gone.

    This process may be killed: its temporary files are in `folder`, which the other one removes.
    """
    os.dup2(2, 1)  # standard output is the other process's alone
    sys.stdout = sys.stderr
    tempfile.tempdir = str(folder)
    for number in set(ENDING) - {signal.SIGTERM}:  # the other one hears a terminal's Ctrl-C
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    given: queue.SimpleQueue[PlannedRow] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, given), daemon=True).start()
    try:
        bench = Bench(options, image_store([row.entry for row in rows]), logs)
        while True:
            outcome = bench.measure(given.get(), connection.send)
            if outcome.fault is not None:
                outcome = replace(outcome, fault=_portable(outcome.fault))
            connection.send(outcome)
    except PortbenchError as error:
        connection.send(error)
    except OSError:  # the other end of the pipe has gone
        pass


def _listen(connection: Connection, given: queue.SimpleQueue[PlannedRow]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            given.put(connection.recv())
    os._exit(0)


def _portable(error: Exception) -> Exception:
    """Make the error fit to be sent: a fault of the program with its traceback as text."""
    if isinstance(error, PortbenchError):
        return error
    told = RuntimeError(repr(error))
    told.add_note("".join(traceback.format_exception(error)))
    return told
