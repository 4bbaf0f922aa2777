"""A board that stays, as `portbench desk` keeps one: the harness neither ends it nor controls its power."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.boards.emulated.control import ControlClient
from portbench.boards.registry import read_state, runtime_dir

NAME: Final = "desk"
DEVICE: Final = f"usb:{NAME}"
_START_S = 60.0
_STOP_S = 60.0
_LOOK_S = 0.02


class Desk:
    """The board starts when it is first needed, and again after a kill."""

    def __init__(self, definition: BoardDefinition, log: Path) -> None:
        self._definition = definition
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the board, and wait until it is on the bus. Raises BoardError."""
        if self.runs:
            return
        self.end()
        command = [sys.executable, "-m", "portbench.boards.emulated", "--name", NAME, "--board", self._definition.id]
        command += ["--log", str(self._log), "--end-with", str(os.getpid())]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        folder = runtime_dir() / NAME

        def there() -> bool:
            if not self.runs:
                raise BoardError(f"{NAME}: its process ended at once; see {self._log}")
            state = read_state(folder)
            return state is not None and state.usb_vid is not None

        Deadline(_START_S, NAME).poll(there, _LOOK_S, "its process to start")

    def hold_bootsel(self) -> None:
        """Plug the board in again with BOOTSEL held, as a person does with a board that does not answer."""
        try:
            with contextlib.closing(ControlClient(runtime_dir() / NAME, NAME)) as control:
                control.call("power_cycle", Deadline(_START_S, NAME), bootsel=True)
        except BoardError:
            if not self._ended():  # a process that was killed may take a moment to go
                raise

    def sweep(self) -> None:
        """Remove the leftovers of a killed board, as the next start of a desk does. Raises BoardError."""
        if self._process is not None and not self.runs:
            self.start()

    def _ended(self) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process is None or self._process.wait(_STOP_S) is not None
        return False

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
