"""SIGKILL of any process of a command, at any moment: no process and no folder stays, and no measured row is lost.

The moment is a share of the CPU time that the command takes undisturbed, so that a busy machine moves no kill.
"""

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import psutil

from portbench.boards import Deadline, DeadlineExceeded
from portbench.boards.timing import host_time, with_descendants
from portbench.errors import PortbenchError
from portbench.results.model import Status
from portbench.results.storage import read, run_files
from tests import patience
from tests.ping_pong import NATIVE_IMAGE
from tests.soak.leaks import own_folders, processes_of
from tests.soak.record import Record

_GONE_S: Final = 20.0
"""For the processes of a killed command to end: one that has just begun ends after its start, which may be slow."""
_COMMAND_S: Final = 120.0
"""For a command that lost a process to end by itself, or a desk to be there."""
_LOOK_S: Final = 0.02
_BETWEEN: Final = 10
"""Kills of a command until it runs undisturbed, and has to remove what they have left."""
_ROWS: Final = "--runtime portbench-native --where emulated --messages 20"
_TOLD: Final = re.compile(r"^\[ *\d+/\d+\] measured ", re.MULTILINE)
_THERE: Final = "killed: "
"""Printed by a desk once its board is there."""

UNTOLD: Final = re.compile(
    r"^Traceback [^\n]*\n(?:  [^\n]*\n)*?  File [^\n]*spawn\.py[^\n]* in _main\n"
    r" [^\n]*reduction\.pickle\.load\(from_parent\)\n(?: [^\n]*\n)?EOFError: [^\n]*\n",
    re.MULTILINE,
)
"""Python's output in a process whose parent was killed before it said what to run."""

COMMANDS: Final[dict[str, str]] = {
    "run": f"portbench run {_ROWS} --runs 2 --parallel 1",
    "desk": "portbench desk --name killed",
    "pool": f"portbench run {_ROWS} --runs 1 --workload ping_pong --workload udp --parallel 2",
    "sweep": f"portbench run {_ROWS} --runs 1 -s spi_hz=8M,16M --name sweep-{{number}} --parallel 2",
    "compare": f"portbench compare {NATIVE_IMAGE} other.uf2 --where emulated --messages 20 --runs 1",
    "pytest": f"pytest -q -p no:cacheprovider '--portbench={_ROWS} --runs 2 --parallel 1'",
}
"""The arguments of `python -m`, by the name of the command."""


def aim(seed: int, number: int) -> tuple[float, bool, float]:
    """A kill: its moment as a share of the command's CPU time; whether it strikes a process below the command, which
    half of the kills do; and the place among those."""
    rng = random.Random(f"portbench kill {seed} {number}")
    return rng.random(), rng.random() < 0.5, rng.random()


class World:
    """One command, with folders for its boards, locks, temporary files and results."""

    def __init__(self, root: Path, name: str, command: str) -> None:
        self._root, self._name, self._command = root, name, command
        self._environment = os.environ | own_folders(root)
        shutil.copyfile(NATIVE_IMAGE, root / "other.uf2")
        self._said = root / "said.txt"
        self._rows = 0
        self._sweep = 0
        self._undisturbed_s = self._cpu_s = 0.0

    def kills(self, seed: int, numbers: Sequence[int]) -> Iterator[Record]:
        """The record of each kill, and of each undisturbed run between them."""
        yield self._undisturbed()
        for place, number in enumerate(numbers, 1):
            yield self._kill(seed, number)
            if place % _BETWEEN == 0 or place == len(numbers):
                yield self._undisturbed()

    def _undisturbed(self) -> Record:
        """The next start: it has to succeed, and to remove what killed ones have left."""
        record = Record(None, self._name, status="undisturbed")
        with self.started(record) as process:
            self.wait(process, record)
            self._undisturbed_s = self._cpu_s
        if process.returncode not in (0, -signal.SIGINT, 130):
            record.lost.append(f"status {process.returncode}: {self._last_line()}")
        left = {path for name in ("b", "locks", "tmp") for path in (self._root / name).iterdir()}
        left |= {*self._root.rglob(".writing-*")}
        record.leaks += sorted(str(path.relative_to(self._root)) for path in left)
        return record

    def _kill(self, seed: int, number: int) -> Record:
        moment, below, chosen = aim(seed, number)
        self._sweep += 1
        record = Record(number, self._name, status="measured")
        with self.started(record) as process:
            # A process below the command may end before it is struck: then another one is.
            while process.poll() is None and not (record.struck or record.hangs):
                self.wait(process, record, moment * self._undisturbed_s, with_child=below)
                command, *children = with_descendants([process.pid])
                among = children if below else [command]
                with contextlib.suppress(psutil.NoSuchProcess):
                    if among and process.poll() is None:
                        self._strike(psutil.Process(among[int(chosen * len(among))]), process, record)
        return record

    def _strike(self, victim: psutil.Process, process: psutil.Popen, record: Record) -> None:
        """Raises NoSuchProcess where it has just ended."""
        record.reason = _arguments(victim)
        victim.kill()
        record.struck = True
        if victim.pid == process.pid:
            process.wait()
            record.status = "interrupted"
            return
        self.wait(process, record)
        record.status = "failed" if process.poll() else "measured"
        record.reason += f"; then status {process.poll()}"

    @contextlib.contextmanager
    def started(self, record: Record) -> Iterator[psutil.Popen]:
        """The command; at its end all its processes have to be gone, and its rows to be in its files."""
        began_s = host_time()
        with self._said.open("wb") as output:
            process = psutil.Popen(
                [sys.executable, "-m", *shlex.split(self._command.format(number=self._sweep))],
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                record.hangs.append("it was still there, and is killed")
                process.kill()
            process.wait()
            record.leaks += self._still_there()
        if "Traceback" in UNTOLD.sub("", self.text()):
            record.lost.append(f"a traceback: {self._last_line()}")
        record.lost += self._lost_rows()
        record.seconds = host_time() - began_s

    def wait(
        self, process: psutil.Popen, record: Record, until_cpu_s: float = float("inf"), *, with_child: bool = False
    ) -> None:
        """Until the command ends, a desk is there and ends by Ctrl-C, or its processes have had so much CPU time, and
        it has one below it (`with_child`)."""
        spent: dict[int, float] = {}
        ends_desk, interrupted = self._name == "desk" and record.number is None, False

        def over() -> bool:
            nonlocal interrupted
            pids = with_descendants([process.pid])
            for pid in pids:
                with contextlib.suppress(psutil.Error):
                    times = psutil.Process(pid).cpu_times()
                    spent[pid] = times.user + times.system
            self._cpu_s = sum(spent.values())
            if ends_desk and not interrupted and _THERE in self.text():
                process.send_signal(signal.SIGINT)
                interrupted = True
            return process.poll() is not None or (self._cpu_s >= until_cpu_s and (len(pids) > 1 or not with_child))

        try:
            Deadline(_COMMAND_S, self._name).poll(over, _LOOK_S, "its end")
        except DeadlineExceeded:
            record.hangs.append(f"did not end within {_COMMAND_S:g} s: {self._last_line()}")

    def text(self) -> str:
        """The output of both streams."""
        return self._said.read_text(encoding="utf-8", errors="replace")

    def _last_line(self) -> str:
        return next(reversed(self.text().strip().splitlines()), "it said nothing")

    def _still_there(self) -> list[str]:
        stay: list[psutil.Process] = []
        while not stay and (found := processes_of(self._root)):
            stay = patience.still_alive(found, _GONE_S)
        told = []
        for process in stay:
            with contextlib.suppress(psutil.NoSuchProcess):
                told.append(f"process {_arguments(process)}")
                process.kill()
        return told

    def _lost_rows(self) -> list[str]:
        """Rows that were told of or stored before, and are in no file now."""
        files = run_files(self._root / "results")
        try:
            stored = sum(row.status is Status.MEASURED for file in files for row in read(file).rows)
        except PortbenchError as error:
            return [str(error)]
        due, self._rows = self._rows + len(_TOLD.findall(self.text())), stored
        return [f"{stored} rows on disk of {due}"] if stored < due else []


def _arguments(process: psutil.Process) -> str:
    """The beginning of its arguments of `python -m` or `-c`. Raises NoSuchProcess."""
    return " ".join(process.cmdline()[2:])[:60]
