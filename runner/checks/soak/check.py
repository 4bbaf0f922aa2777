"""`portbench check soak`: flash, deploy and run again and again while things go wrong, and see that nothing is lost.

Cycle N of a seed is always the same, whatever the number of cycles and of workers.
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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from portbench.boards.timing import host_time
from portbench.files import TemporaryFolder
from portbench.firmware import catalogue
from portbench.runner.checks.check import Check, Finding, Report, Tell
from portbench.runner.checks.soak import kills
from portbench.runner.checks.soak.leaks import board_processes
from portbench.runner.checks.soak.record import Record
from portbench.runner.checks.soak.worker import LONGEST_CYCLE_S

DEFAULT: Final = "portbench-native"
KILLS: Final = "kills"
_CALM: Final = "none"
_PROGRESS: Final = 25
_REASON_LETTERS: Final = 150
_MOST_REASONS: Final = 5


@dataclass(frozen=True)
class SoakOptions:
    """`first`: number of the first cycle. `workers`: processes at once. `limit_s`: of a part."""

    workload: str
    cycles: int = 100
    seed: int = 1
    first: int = 0
    workers: int = 2
    limit_s: float = 7200.0
    reasons: bool = False
    """Whether the summary lists the reasons of failed rows."""


class Soak(Check):
    """A part is a runtime, or `kills`; each of its cycles is a finding, grouped by the fault that was to strike."""

    name = "soak"
    groups = "fault"
    outcomes = ("measured", "recovered", "did not strike", "failed", "skipped", "interrupted")

    def __init__(self, tell: Tell, options: SoakOptions, file: Path | None = None) -> None:
        """`file` gets a line of JSON as each cycle ends. Raises PortbenchError."""
        super().__init__(tell)
        self._options = options
        self._file = file
        self._records: list[Record] = []

    def parts(self) -> Mapping[str, str]:
        commands = ", ".join(kills.COMMANDS)
        runtimes = {entry.id: f"{entry.family} {entry.version}" for entry in catalogue.load()}
        return runtimes | {KILLS: f"SIGKILL of any process of {commands}"}

    def default_parts(self) -> Sequence[str]:
        return [DEFAULT]

    def run(self, part: str) -> Report:
        before = len(self._records)
        faults: list[str] = []
        with TemporaryFolder("pbsoak") as root:  # a short path, since it holds sockets
            if part == KILLS:
                given = self._options
                numbers = range(given.first, given.first + given.cycles)
                kills.run(given.seed, numbers, given.workers, self._heard, root)
            else:
                faults = Workers(self._options, part, root, self._heard).run()
        records = self._records[before:]
        cycles = [record for record in records if record.number >= 0]
        if len(cycles) < self._options.cycles:
            faults.append(f"{part}: only {len(cycles)} of {self._options.cycles} cycles were run")
        faults += [line for record in records for line in _faults(record)]
        return Report(part, self.parts()[part], tuple(map(_finding, cycles)), faults=tuple(faults))

    def summary(self, reports: Sequence[Report]) -> Iterator[str]:
        if self._options.reasons:
            yield from self._reasons()
        for title, found in (("hangs", "hangs"), ("lost results", "lost"), ("leaks", "leaks")):
            yield f"{title}: {sum(len(getattr(record, found)) for record in self._records)}"
        seconds = sorted(record.seconds for record in self._records if record.number >= 0)
        if seconds:
            median_s = seconds[len(seconds) // 2]
            yield f"{len(seconds)} cycles; a cycle took {median_s:.2f} s (median), {seconds[-1]:.1f} s at most"
        yield f"seed {self._options.seed}, {', '.join(report.part for report in reports)}"

    def more(self) -> dict[str, Any]:
        return {"seed": self._options.seed}

    def record(self, file: Path, reports: Sequence[Report]) -> None:
        """The record is written cycle by cycle, so that a soak that is killed keeps its cycles."""

    def _heard(self, record: Record) -> None:
        self._records.append(record)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as records:
                records.write(json.dumps(vars(record)) + "\n")
        cycles = sum(each.number >= 0 for each in self._records)
        if record.number >= 0 and cycles % _PROGRESS == 0:
            self.tell(f"{cycles} cycles: {sum(len(_faults(each)) for each in self._records)} faults")

    def _reasons(self) -> Iterator[str]:
        by_fault: dict[str, Counter[str]] = defaultdict(Counter)
        for record in self._records:
            if record.reason:
                by_fault[record.fault or _CALM][record.reason[:_REASON_LETTERS]] += 1
        for fault, counted in sorted(by_fault.items()):
            for reason, times in counted.most_common(_MOST_REASONS):
                yield f"{fault}: {times} x {reason}"


def _finding(record: Record) -> Finding:
    outcome = record.status
    if record.fault and record.status == "measured":
        outcome = "recovered" if record.struck else "did not strike"
    return Finding(f"cycle {record.number}", outcome=outcome, note=record.reason, group=record.fault or _CALM)


def _faults(record: Record) -> list[str]:
    name = f"cycle {record.number}" if record.number >= 0 else "end"
    kinds = (("hang", record.hangs), ("lost result", record.lost), ("leak", record.leaks))
    return [f"{name} ({record.fault or _CALM}): {kind}: {line}" for kind, lines in kinds for line in lines]


@dataclass
class Worker:
    """A worker process and its remaining cycles."""

    number: int
    process: subprocess.Popen[str]
    left: list[int]
    heard_s: float


@dataclass
class Workers:
    """The worker processes of one part: start them, listen to them, and end those that hang."""

    options: SoakOptions
    runtime: str
    root: Path
    heard: Callable[[Record], None]
    _starts: int = 0
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _workers: list[Worker] = field(default_factory=list)
    _faults: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        """Faults that belong to no cycle. Returns early when the time is up."""
        given = self.options
        numbers = range(given.first, given.first + given.cycles)
        limit_s = time.monotonic() + given.limit_s
        try:
            for number in range(min(given.workers, given.cycles)):
                self._start(list(numbers[number :: given.workers]), number)
            while self._workers:
                for key, _ in self._selector.select(1.0):
                    self._hear(key.data)
                for worker in list(self._workers):
                    if host_time() - worker.heard_s > LONGEST_CYCLE_S:
                        self._end_hung(worker)
                if time.monotonic() > limit_s:
                    self._faults.append(f"hang: the soak was not over after {given.limit_s:g} s")
                    break
        finally:
            for worker in list(self._workers):
                self._stop(worker)
        self._faults += [f"leak: board process {pid}" for pid in board_processes(self.root)]
        return self._faults

    def _start(self, numbers: list[int], number: int) -> None:
        self._starts += 1
        command = [sys.executable, "-m", "portbench.runner.checks.soak.worker"]
        command += ["--root", str(self.root / str(self._starts)), "--seed", str(self.options.seed)]
        command += ["--runtime", self.runtime, "--workload", self.options.workload]
        command += ["--on-cable"] * (number % 2)
        # Not the user's data: the content of a desk's board is saved there before the board is written over.
        environment = {**os.environ, "XDG_DATA_HOME": str(self.root / "data")}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            bufsize=1,
            env=environment,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{json.dumps(numbers)}\n")
        process.stdin.flush()
        worker = Worker(number, process, numbers, host_time())
        self._workers.append(worker)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)

    def _hear(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        line = worker.process.stdout.readline()
        if not line:
            self._stop(worker)
            if worker.process.returncode:
                self._faults.append(f"lost result: a worker ended with status {worker.process.returncode}")
                if worker.process.returncode != 2 and worker.left:
                    self._start(worker.left[1:], worker.number)
            return
        worker.heard_s = host_time()
        record = Record(**json.loads(line))
        self.heard(record)
        if record.number >= 0:
            worker.left = worker.left[1:]

    def _end_hung(self, worker: Worker) -> None:
        number = next(iter(worker.left), "end")
        self._faults.append(f"hang: cycle {number}: silent for {LONGEST_CYCLE_S:g} s, killed")
        with contextlib.suppress(ProcessLookupError):
            worker.process.send_signal(signal.SIGABRT)  # faulthandler prints where it hung
        self._stop(worker)
        if worker.left:
            self._start(worker.left[1:], worker.number)

    def _stop(self, worker: Worker) -> None:
        self._workers.remove(worker)
        assert worker.process.stdin is not None and worker.process.stdout is not None
        self._selector.unregister(worker.process.stdout)
        with contextlib.suppress(psutil.NoSuchProcess):
            if worker.process.poll() is None:
                for child in psutil.Process(worker.process.pid).children(recursive=True):
                    child.kill()
                worker.process.kill()
        worker.process.wait()
        for pipe in (worker.process.stdin, worker.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
