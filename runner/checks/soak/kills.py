"""SIGKILL of any process of a command, at any moment: no process and no folder stays, and no measured row is lost.

The moment is a share of the CPU time that the command takes undisturbed, so that a busy machine moves no kill.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import psutil

from portbench.boards import Deadline, DeadlineExceeded
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.timing import HostTime, Waits, host_time, with_descendants
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.errors import PortbenchError
from portbench.results.model import Status
from portbench.results.storage import read, run_files
from portbench.runner.checks.check import last_line
from portbench.runner.checks.soak.record import Record
from portbench.workloads import ping_pong

_GONE_S: Final = 2.0
"""For the processes of a killed command to end."""
_COMMAND_S: Final = 120.0
"""For a command that lost a process to end by itself, or a desk to be there."""
_LOOK_S: Final = 0.02
_BETWEEN: Final = 10
"""Kills of a command until it runs undisturbed, and has to remove what they have left."""
_ROWS: Final = "--runtime portbench-native --where emulated --messages 20"
_IMAGE: Final = Path(ping_pong.__file__).with_name("native.uf2")
_TOLD: Final = re.compile(r"^\[ *\d+/\d+\] measured ", re.MULTILINE)
_NO_LIMIT: Final = float("inf")
_THERE: Final = "killed: "
"""Printed by a desk once its board is there."""

COMMANDS: Final[dict[str, str]] = {
    "run": f"portbench run {_ROWS} --runs 2 --parallel 1",
    "pool": f"portbench run {_ROWS} --runs 1 --workload ping_pong --workload udp --parallel 2",
    "sweep": f"portbench run {_ROWS} --runs 1 -s spi_hz=8M,16M --name {{name}} --parallel 2",
    "compare": f"portbench compare {_IMAGE} other.uf2 --where emulated --messages 20 --runs 1",
    "desk": "portbench desk --name killed",
    "soak": "portbench check soak --cycles 2 --seed {seed}",
    "pytest": f"pytest -q -p no:cacheprovider '--portbench={_ROWS} --runs 2 --parallel 1'",
}
"""The arguments of `python -m`, by the name of the command."""


def run(seed: int, numbers: range, workers: int, heard: Callable[[Record], None], root: Path) -> None:
    """Kill number N of a seed is of the same command, at the same share of its time, of itself or of the same place
    among the processes below it. `heard` gets the record of each kill, and of each undisturbed run between them."""
    names = list(COMMANDS)
    by_name = {name: [number for number in numbers if names[number % len(names)] == name] for name in names}
    worlds = {name: World(root / str(place), name, seed) for place, name in enumerate(names) if by_name[name]}
    with ThreadPoolExecutor(workers) as threads:
        try:
            coming = [threads.submit(_each, world, by_name[name], heard) for name, world in worlds.items()]
            for each in coming:
                each.result()
        finally:
            for world in worlds.values():
                world.stop()


def aim(seed: int, number: int) -> tuple[float, bool, float]:
    """A kill: its moment as a share of the command's CPU time; whether it strikes a process below the command, which
    half of the kills do; and the place among those."""
    rng = random.Random(f"portbench kill {seed} {number}")
    return rng.random(), rng.random() < 0.5, rng.random()


def _each(world: World, numbers: Sequence[int], heard: Callable[[Record], None]) -> None:
    for record in world.kills(numbers):
        heard(record)


@dataclass
class Session:
    """A command that runs. `said`: its output, of both streams."""

    process: psutil.Popen
    said: Path
    cpu_s: float = 0.0

    def text(self) -> str:
        return self.said.read_text(encoding="utf-8", errors="replace")


class World:
    """One command, with folders for its boards, locks, temporary files and results."""

    def __init__(self, root: Path, name: str, seed: int) -> None:
        self._root, self._name, self._seed = root, name, seed
        self._folders = [root / each for each in ("b", "locks", "tmp")]
        for folder in self._folders:
            folder.mkdir(parents=True)
        shutil.copyfile(_IMAGE, root / "other.uf2")
        self._told: set[Path] = set()
        self._cpu_s = 0.0
        self._rows = 0
        self._sweep = 0
        self._session: Session | None = None
        self._stopped = False

    def kills(self, numbers: Sequence[int]) -> Iterator[Record]:
        """The record of each kill, and of each undisturbed run between them."""
        yield self._undisturbed()
        for place, number in enumerate(numbers, 1):
            yield self._kill(number)
            if place % _BETWEEN == 0 or place == len(numbers):
                yield self._undisturbed()

    def stop(self) -> None:
        """End what still runs, for a thread that waits for it."""
        self._stopped = True
        for process in self._alive():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def _undisturbed(self) -> Record:
        """The next start: it has to succeed, and to remove what killed ones have left."""
        record = Record(-1, self._name, status="end")
        with self._started(record) as session:
            self._wait(session, record, _COMMAND_S)
            self._cpu_s = session.cpu_s
            if session.process.returncode not in (0, -signal.SIGINT, 130):
                record.lost.append(f"status {session.process.returncode}: {last_line(session.text())}")
        left = {path for folder in self._folders for path in folder.iterdir()} | {*self._root.rglob(".writing-*")}
        record.leaks += sorted(str(path.relative_to(self._root)) for path in left - self._told)
        self._told |= left
        return record

    def _kill(self, number: int) -> Record:
        moment, below, chosen = aim(self._seed, number)
        self._sweep += 1
        record = Record(number, self._name)
        with self._started(record) as session:
            record.status = "measured"
            # A process below the command may end before it is struck: then another one is.
            while session.process.poll() is None and not (record.struck or record.hangs or self._stopped):
                self._wait(session, record, _COMMAND_S, moment * self._cpu_s, with_child=below)
                command, *children = with_descendants([session.process.pid])
                among = children if below else [command]
                with contextlib.suppress(psutil.NoSuchProcess):
                    if among and session.process.poll() is None:
                        self._strike(psutil.Process(among[int(chosen * len(among))]), session, record)
        return record

    def _strike(self, victim: psutil.Process, session: Session, record: Record) -> None:
        """Raises NoSuchProcess where it has just ended."""
        record.reason = _what(victim)
        victim.kill()
        record.struck = True
        if victim.pid == session.process.pid:
            session.process.wait()
            record.status = "interrupted"
            return
        self._wait(session, record, _COMMAND_S)
        status = session.process.poll()
        record.status = "failed" if status else "measured"
        record.reason += f"; then status {status}"

    @contextlib.contextmanager
    def _started(self, record: Record) -> Iterator[Session]:
        """A session; at its end all its processes have to be gone, and its rows to be in its files."""
        began_s = host_time()
        said = self._root / "said.txt"
        with said.open("wb") as output:
            session = self._session = Session(self._start(output), said)
        try:
            yield session
        finally:
            if session.process.poll() is None:
                record.hangs.append("it was still there, and is killed")
                session.process.kill()
            session.process.wait()
        record.leaks += self._still_there()
        text = session.text()
        if "Traceback" in text:
            record.lost.append(f"a traceback: {last_line(text)}")
        record.lost += self._lost_rows(text)
        record.seconds = host_time() - began_s

    def _start(self, output: IO[bytes]) -> psutil.Popen:
        words = COMMANDS[self._name].format(name=f"sweep-{self._sweep}", seed=self._seed + self._sweep)
        boards, locks, temporary = map(str, self._folders)
        own = {RUNTIME_DIR_VARIABLE: boards, LOCK_DIR_VARIABLE: locks, "TMPDIR": temporary}
        own |= {f"XDG_{each}_HOME": str(self._root / each.lower()) for each in ("DATA", "CACHE", "STATE")}
        return psutil.Popen(
            [sys.executable, "-m", *shlex.split(words)],
            cwd=self._root,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _wait(
        self,
        session: Session,
        record: Record,
        limit_s: float,
        until_cpu_s: float = _NO_LIMIT,
        *,
        with_child: bool = False,
    ) -> None:
        """Until the command ends, a desk is there and ends by Ctrl-C, or its processes have had so much CPU time, and
        it has one below it (`with_child`)."""
        spent: dict[int, float] = {}
        ends_desk, interrupted = self._name == "desk" and record.number < 0, False

        def over() -> bool:
            nonlocal interrupted
            pids = with_descendants([session.process.pid])
            for pid in pids:
                with contextlib.suppress(psutil.Error):
                    times = psutil.Process(pid).cpu_times()
                    spent[pid] = times.user + times.system
            session.cpu_s = sum(spent.values())
            if ends_desk and not interrupted and _THERE in session.text():
                session.process.send_signal(signal.SIGINT)
                interrupted = True
            aimed = session.cpu_s >= until_cpu_s and (len(pids) > 1 or not with_child)
            return self._stopped or session.process.poll() is not None or aimed

        try:
            Deadline(limit_s, self._name).poll(over, _LOOK_S, "its end")
        except DeadlineExceeded:
            record.hangs.append(f"did not end within {limit_s:g} s: {last_line(session.text())}")

    def _alive(self) -> list[psutil.Process]:
        """Processes with this world's folders, of whatever parent."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get("TMPDIR") == str(self._folders[-1]) and process.status() != "zombie":
                    found.append(process)
        return found

    def _still_there(self) -> list[str]:
        left = self._alive()
        waits = Waits()
        for process in left:  # no longer descendants
            waits.include(process.pid)
        deadline = Deadline(_GONE_S, self._name, clock=HostTime(waits))
        while left and not deadline.expired:
            psutil.wait_procs(left, _LOOK_S)
            left = self._alive()
        found = [f"process {_what(process)}" for process in left]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        return found

    def _lost_rows(self, text: str) -> list[str]:
        """Rows that were told of or stored before, and are in no file now."""
        files = run_files(self._root / "results")
        try:
            stored = sum(row.status is Status.MEASURED for file in files for row in read(file).rows)
        except PortbenchError as error:
            return [str(error)]
        due, self._rows = self._rows + len(_TOLD.findall(text)), stored
        return [f"{stored} rows on disk of {due}"] if stored < due else []


def _what(process: psutil.Process) -> str:
    """The process in a few words, of its command line."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return "gone"
    kept = [Path(word).name for word in words[1:] if not word.startswith("-")]
    return " ".join(kept)[:60] or process.name()
