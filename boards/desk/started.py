"""The process of a desk, started by another program."""

import contextlib
import itertools
import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import portbench
from portbench.boards.registry import EmulatedState, read_state, runtime_dir
from portbench.boards.timing import Deadline
from portbench.errors import BoardUnavailable, BrokenSetup
from portbench.signals import deferred_interrupts

_START_S: Final = 30.0
_TERM_S: Final = 15.0
"""To end by SIGTERM, which is not heard while the engine copies an image."""
_POLL_S: Final = 0.02
_ROOT: Final = Path(portbench.__file__).parents[1]
_numbers = itertools.count()


class StartedDesk:
    """A desk of our own, from construction to `close`. Its process also ends when this one does, however that ends.

    `config`: settings as JSON, see `boards.desk.config`. `options`: further ones of `python -m portbench.boards.desk`.
    `log`: the file of its events. Raises BoardUnavailable where there are no pseudo-terminals, BrokenSetup where none
    starts.
    """

    def __init__(
        self,
        board: str,
        config: str = "{}",
        name: str | None = None,
        options: Sequence[str] = (),
        log: Path | None = None,
    ) -> None:
        try:
            import termios as termios
        except ImportError:
            raise BoardUnavailable(
                "a desk needs pseudo-terminals, which this operating system has not; rows, flash and tests do without"
            ) from None
        self.name = name or f"emulated-{os.getpid()}-{next(_numbers)}"
        self.folder = runtime_dir() / self.name
        command = [sys.executable, "-m", "portbench.boards.desk", "--board", board, "--name", self.name]
        command += ["--config", config, "--log", str(log or os.devnull), "--end-with", str(os.getpid()), *options]
        # Looking for plugins of pydantic, of which there are none, takes time at each start.
        environment = {"PYDANTIC_DISABLE_PLUGINS": "__all__", **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), environment.get("PYTHONPATH")]))
        with deferred_interrupts():
            # In a new session: Ctrl-C ends the program here first, which then ends the board.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
            # Also where Ctrl-C comes before the caller has this object, or in the middle of `close`.
            self.close = weakref.finalize(self, _end, self._process)

    def wait(self) -> EmulatedState:
        """Return the board's state, once there is one. Raises BrokenSetup if the process has ended."""
        try:
            return Deadline(_START_S, self.name).poll(self.state, _POLL_S, "its process to start")
        except BoardUnavailable as error:
            raise BrokenSetup(str(error)) from None

    def state(self) -> EmulatedState | None:
        """Return the board's state, None before there is one.

        Raises BoardUnavailable, with its last words, once the process has ended.
        """
        status = self._process.poll()
        if status is None:
            state = read_state(self.folder)
            # Not that of another of this name, which was a moment faster.
            return None if state is None or state.pid != self._process.pid else state
        assert self._process.stderr is not None
        said = b"" if self._process.stderr.closed else self._process.stderr.read()
        lines = said.decode("utf-8", "replace").strip().splitlines()
        raise BoardUnavailable(f"{self.name}: its process ended with status {status}: {lines[-1] if lines else ''}")

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def ended(self) -> bool:
        """True if the process ends within a moment."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_TERM_S)
        return not self.runs


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the board's process, in whatever state it is; it removes its folder, or the next one that starts does."""
    with deferred_interrupts():
        for end in (process.terminate, process.kill):
            if process.poll() is not None:
                break
            end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TERM_S)
        if process.stderr is not None:
            process.stderr.close()
