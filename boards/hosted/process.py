"""A child process in a new process group, read until it ends, with a deadline."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from portbench.boards.console import Console
from portbench.boards.timing import Deadline
from portbench.errors import BoardError

_LOOK_S = 0.25
"""A deadline may be cut while a program is silent."""


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

    @property
    def pid(self) -> int:
        return self._popen.pid

    def read(self, console: Console, deadline: Deadline, waiting_for: str) -> None:
        """Feed all output to `console` until the process closes it, as it does by ending. Raises DeadlineExceeded."""
        assert self._popen.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._popen.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(min(deadline.remaining, _LOOK_S)):
                    deadline.check(waiting_for)
                    continue
                data = os.read(self._popen.stdout.fileno(), 65536)
                if not data:
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
