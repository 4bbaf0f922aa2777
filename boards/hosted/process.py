"""A board that is a child process in a new process group, read until it ends, with a deadline."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

from portbench.boards.board import Board, Deployment, Progress, RunOutput
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.timing import Deadline, Waits
from portbench.errors import BoardError, ConsoleLost
from portbench.files import TemporaryFolder
from portbench.firmware.identify import Uf2File
from portbench.where import Where

_LOOK_S = 0.25
"""A deadline may be cut while a program is silent."""


class LostTime:
    """The time that a child of this process waits for a processor, or is stopped, from now on."""

    def __init__(self, pid: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = str(pid)
        self._clock = clock
        self._waits = Waits(clock)
        self._began_s = self._looked_s = clock()
        self._lost_s: float | None = None

    def look(self, *, last: bool = False) -> None:
        """Note a wait until now. A stop is seen if it lasts from one look to the next."""
        now_s = self._clock()
        if last or now_s - self._looked_s >= _LOOK_S:
            self._looked_s = now_s
            self._lost_s = self._waits().get(self._name, self._lost_s)

    @property
    def share(self) -> float | None:
        """Share of the time until the last look; None where the system does not report it."""
        took_s = self._looked_s - self._began_s
        return None if self._lost_s is None or took_s <= 0 else min(1.0, self._lost_s / took_s)


class HostedProcess:
    """Starts `command` in `folder`; `kill` ends it and everything it started, however it stands.

    `environment` replaces this process's own.
    """

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        try:
            self._popen = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us alone, and the whole group can be ended
            )
        except OSError as error:
            raise BoardError(f"cannot start {command[0]}: {error.strerror}") from error
        self.lost = LostTime(self._popen.pid)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def read(self, console: Console, deadline: Deadline, waiting_for: str) -> None:
        """Feed all output to `console` until the process closes it, as it does by ending. Raises DeadlineExceeded."""
        assert self._popen.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._popen.stdout, selectors.EVENT_READ)
            while True:
                self.lost.look()
                if not selector.select(min(deadline.remaining, _LOOK_S)):
                    deadline.check(waiting_for)
                    continue
                data = os.read(self._popen.stdout.fileno(), 65536)
                if not data:
                    self.lost.look(last=True)
                    console.end()
                    return
                console.feed(data)

    def kill(self) -> None:
        """End the whole process group and reap the child. May be called twice."""
        if self._popen.returncode is not None:
            return  # reaped: its number may belong to another process by now
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a dead group
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        if self._popen.stdout is not None:
            self._popen.stdout.close()


class HostedBoard(Board):
    """Runs the client in a child process and process group, in a temporary folder that is its file system."""

    where: Where = Where.HOSTED
    script: str
    """The client's file that is run."""

    def __init__(self, definition: BoardDefinition) -> None:
        self.definition = definition
        self._folder = TemporaryFolder("portbench-hosted")
        self._deployed = False
        self._console = Console()
        self._process: HostedProcess | None = None
        self._lost: float | None = None
        """The share of the last program's time in which it had no processor."""

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        """Nothing to flash: the runtime is a program of this PC."""

    def wait_console(self, deadline: Deadline) -> None:
        """Nothing to wait for: the console is there as soon as the process is."""

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        if self.script not in deployment.files:
            raise BoardError(f"{self.name}: the deployment has no {self.script}, only {', '.join(deployment.files)}")
        try:
            for name, content in deployment.files.items():
                path = self._folder.path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            raise BoardError(f"{self.name}: cannot write {error.filename}: {error.strerror}") from error
        self._deployed = True

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if not self._deployed:
            raise BoardError(f"{self.name}: nothing was deployed to run")
        self._console = Console(progress)
        output = self._run_client(deadline)
        if output.result is None:
            last = self._console.tail(1)
            raise ConsoleLost(f"{self.name}: the client ended without a result line; last it printed: {last}")
        return output

    @abstractmethod
    def _run_client(self, deadline: Deadline) -> RunOutput:
        """Run the script with `_execute`, and return its output, with or without a result."""

    def reset(self, deadline: Deadline) -> None:
        self._end_process()

    def console_tail(self, n: int = 20) -> list[str]:
        return self._console.tail(n)

    def close(self) -> None:
        self._end_process()
        self._folder.remove()

    def _execute(
        self,
        command: list[str],
        console: Console,
        deadline: Deadline,
        waiting_for: str = "the client's result line",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._end_process()
        self._process = HostedProcess(command, self._folder.path, environment)
        try:
            self._process.read(console, deadline, waiting_for)
            self._lost = self._process.lost.share
        finally:
            self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
