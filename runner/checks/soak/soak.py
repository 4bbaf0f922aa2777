"""Flash, deploy and run while things go wrong, and see that nothing is lost.

Cycle N of a seed is the same however many there are and whoever runs it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console

from portbench.boards.host_time import host_time
from portbench.runner.checks.soak.lane import Record
from portbench.runner.checks.soak.leaks import board_processes
from portbench.runner.checks.soak.report import Tally
from portbench.runner.checks.soak.worker import LONGEST_CYCLE_S

_PROGRESS = 25


@dataclass(frozen=True)
class SoakOptions:
    """`first`: number of the first cycle. `workers`: processes at once. `records`: file for a line of JSON a cycle."""

    runtimes: tuple[str, ...]
    workload: str
    cycles: int = 100
    seed: int = 1
    first: int = 0
    workers: int = 2
    records: Path | None = None
    limit_s: float = 7200.0


@dataclass
class Worker:
    """A worker process and the cycles that it has yet to tell of."""

    number: int
    process: subprocess.Popen[str]
    left: range
    heard_s: float


class Soak:
    """Starts workers, listens to them, and ends those that hang. `root`: a short path, as it holds sockets."""

    def __init__(self, options: SoakOptions, root: Path, console: Console) -> None:
        self._options = options
        self._root = root
        self._console = console
        self._starts = 0
        self._selector = selectors.DefaultSelector()
        self._workers: list[Worker] = []
        self.tally = Tally()

    def run(self) -> None:
        """Returns when all cycles are done, or the time is up."""
        given = self._options
        end = given.first + given.cycles
        limit_s = time.monotonic() + given.limit_s
        try:
            for number in range(min(given.workers, given.cycles)):
                self._start(range(given.first + number, end, given.workers), number)
            while self._workers:
                for key, _ in self._selector.select(1.0):
                    self._hear(key.data)
                for worker in list(self._workers):
                    if host_time() - worker.heard_s > LONGEST_CYCLE_S:
                        self._end_hung(worker)
                if time.monotonic() > limit_s:
                    self.tally.hangs.append(f"the soak was not over after {given.limit_s:g} s")
                    break
        finally:
            for worker in list(self._workers):
                self._stop(worker)
        self.tally.leaks += [f"board process {pid}" for pid in board_processes(self._root)]

    def _start(self, cycles: range, number: int) -> None:
        given = self._options
        self._starts += 1
        command = [
            sys.executable,
            "-m",
            "portbench.runner.checks.soak.worker",
            "--root",
            str(self._root / str(self._starts)),
        ]
        command += ["--seed", str(given.seed), "--numbers", f"{cycles.start}:{cycles.stop}:{cycles.step}"]
        command += [f"--runtime={runtime}" for runtime in given.runtimes] + ["--workload", given.workload]
        # Not to the user's: what is on a desk's board is saved there before it is written over.
        environment = {**os.environ, "XDG_DATA_HOME": str(self._root / "data")}
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            bufsize=1,
            env=environment,
        )
        worker = Worker(number, process, cycles, host_time())
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
        worker.heard_s = host_time()
        record = Record(**json.loads(line))
        if self._options.records is not None:
            with self._options.records.open("a", encoding="utf-8") as records:
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
