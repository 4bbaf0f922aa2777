"""`python -m portbench.runner.soak.command`: flash, deploy and run while things go wrong, and see that nothing is lost.

Cycle N of seed S is the same however many there are and whoever runs it: `--first N --cycles 1` repeats it.
Ends with status 1 if any cycle hung, lost a result or left something behind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console

from portbench.firmware import catalogue
from portbench.firmware.catalogue import CatalogueError
from portbench.runner.soak.lane import Record
from portbench.runner.soak.leaks import board_processes
from portbench.runner.soak.report import Tally
from portbench.runner.soak.worker import LONGEST_CYCLE_S
from portbench.workloads import workloads

_LANES = 2
_PROGRESS = 25
_FILE_COLUMNS = 110


def _workload() -> str:
    """What is measured by default."""
    return next(iter(workloads()))


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m portbench.runner.soak.command", description=__doc__)
    arguments.add_argument("--cycles", type=int, default=100, help="how many (default %(default)s)")
    arguments.add_argument("--seed", type=int, default=1, help="of all that is drawn (default %(default)s)")
    arguments.add_argument("--first", type=int, default=0, help="number of the first cycle (default %(default)s)")
    arguments.add_argument("--runtime", default="portbench-native", help="id of the catalogue (default %(default)s)")
    arguments.add_argument("--workload", default=_workload(), help="what each runs (default %(default)s)")
    arguments.add_argument("--workers", type=int, default=2, help="processes at once (default %(default)s)")
    arguments.add_argument("--reasons", action="store_true", help="list why rows failed")
    arguments.add_argument("--records", type=Path, help="write each cycle's record there, a line of JSON each")
    arguments.add_argument("--limit-s", type=float, default=7200, help="give up after this (default %(default)s)")
    return arguments


@dataclass
class Worker:
    """A worker process and the cycles that it has yet to tell of."""

    number: int
    process: subprocess.Popen[str]
    left: range
    heard_s: float


class Soak:
    """Starts workers, listens to them, and ends those that hang. `root`: a short path, as it holds sockets."""

    def __init__(self, arguments: argparse.Namespace, root: Path, console: Console) -> None:
        self._arguments = arguments
        self._root = root
        self._console = console
        self._starts = 0
        self._selector = selectors.DefaultSelector()
        self._workers: list[Worker] = []
        self.tally = Tally()

    def run(self) -> None:
        """Returns when all cycles are done, or the time is up."""
        given = self._arguments
        end = given.first + given.cycles
        limit_s = time.monotonic() + given.limit_s
        try:
            for number in range(min(given.workers, given.cycles)):
                self._start(range(given.first + number, end, given.workers), number)
            while self._workers:
                for key, _ in self._selector.select(1.0):
                    self._hear(key.data)
                for worker in list(self._workers):
                    if time.monotonic() - worker.heard_s > LONGEST_CYCLE_S:
                        self._end_hung(worker)
                if time.monotonic() > limit_s:
                    self.tally.hangs.append(f"the soak was not over after {given.limit_s:g} s")
                    break
        finally:
            for worker in list(self._workers):
                self._stop(worker)
        self.tally.leaks += [f"board process {pid}" for pid in board_processes(self._root)]

    def _start(self, cycles: range, number: int) -> None:
        given = self._arguments
        self._starts += 1
        command = [sys.executable, "-m", "portbench.runner.soak.worker", "--root", str(self._root / str(self._starts))]
        command += ["--seed", str(given.seed), "--numbers", f"{cycles.start}:{cycles.stop}:{cycles.step}"]
        command += ["--runtime", given.runtime, "--workload", given.workload, "--lanes", str(_LANES)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True, bufsize=1
        )
        worker = Worker(number, process, cycles, time.monotonic())
        self._workers.append(worker)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    def _hear(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        line = worker.process.stdout.readline()
        if not line:
            self._stop(worker)
            if worker.process.returncode:
                self.tally.lost.append(f"a worker ended with status {worker.process.returncode}")
                if worker.process.returncode != 2 and worker.left:
                    self._start(worker.left[1:], worker.number)
            return
        worker.heard_s = time.monotonic()
        record = Record(**json.loads(line))
        if self._arguments.records is not None:
            with self._arguments.records.open("a", encoding="utf-8") as records:
                records.write(line)
        self.tally.add(record)
        if record.number >= 0:
            worker.left = worker.left[1:]
            if self.tally.cycles % _PROGRESS == 0:
                tally = self.tally
                self._console.print(
                    f"{tally.cycles} cycles: {len(tally.hangs)} hangs, {len(tally.lost)} lost results,"
                    f" {len(tally.leaks)} leaks"
                )

    def _end_hung(self, worker: Worker) -> None:
        self.tally.hangs.append(f"cycle {next(iter(worker.left), 'end')}: silent for {LONGEST_CYCLE_S:g} s, killed")
        with contextlib.suppress(ProcessLookupError):
            worker.process.send_signal(signal.SIGABRT)  # faulthandler tells where it hung
        self._stop(worker)
        if worker.left:
            self._start(worker.left[1:], worker.number)

    def _stop(self, worker: Worker) -> None:
        self._workers.remove(worker)
        assert worker.process.stdout is not None
        self._selector.unregister(worker.process.stdout)
        with contextlib.suppress(psutil.NoSuchProcess):
            if worker.process.poll() is None:
                for child in psutil.Process(worker.process.pid).children(recursive=True):
                    child.kill()
                worker.process.kill()
        worker.process.wait()
        worker.process.stdout.close()


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_FILE_COLUMNS)
    for name in ("cycles", "workers"):
        if getattr(arguments, name) < 1:
            console.print(f"soak: --{name} is {getattr(arguments, name)}; use 1 or more")
            return 2
    try:
        catalogue.load().get(arguments.runtime)
    except CatalogueError as error:
        console.print(f"soak: --runtime: {error}", markup=False)
        return 2
    root = Path(tempfile.mkdtemp(prefix="pbsoak-"))
    try:
        soak = Soak(arguments, root, console)
        soak.run()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    console.print(f"seed {arguments.seed}, {arguments.runtime}")
    soak.tally.show(console, reasons=arguments.reasons)
    return 0 if soak.tally.passed and soak.tally.cycles == arguments.cycles else 1


if __name__ == "__main__":
    sys.exit(main())
