"""A machine at MicroPython's raw prompt, typed to as pyboard.py and mpremote do."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.runner.checks.speed.repl import ReplMachine

_STEP_US: Final = 100_000
_TYPING_STEP_US: Final = 2_000
_CHUNK_BYTES: Final = 256
_CHUNK_US: Final = 10_000
"""The pause after each chunk."""
_RAW, _RUN, _RESTART, _END = b"\x01", b"\x04", b"\x04", b"\x04"
_PASTE, _MAY_PASTE, _NEXT_WINDOW = b"\x05A\x01", b"R\x01", b"\x01"
_PROMPT: Final = b"raw REPL; CTRL-B to exit\r\n>"


class RawPrompt:
    """`image` on a machine that has just been switched on."""

    def __init__(self, image: Path, board: BoardDefinition, deadline: Deadline) -> None:
        self._repl = ReplMachine(image, board)
        self._repl.start(deadline)
        self._machine = self._repl.machine
        self._deadline = deadline
        self._said = b""
        self._machine.console_write(_RAW)
        self._until(_PROMPT)

    def execute(self, script: bytes) -> str:
        """The output of the script. Raises BoardError for an exception, and DeadlineExceeded."""
        for start in range(0, len(script), _CHUNK_BYTES):
            self._machine.console_write(script[start : start + _CHUNK_BYTES])
            self._said += self._repl.read(_CHUNK_US)
        self._machine.console_write(_RUN)
        self._until(b"OK")
        printed = self._until(_END)
        raised = self._until(_END)
        if raised:
            last = raised.decode(errors="replace").strip().splitlines()[-1:]
            raise BoardError(f"{self._deadline.what}: {''.join(last)}")
        return printed.decode(errors="replace")

    def start(self, script: bytes) -> None:
        """Restart Python, paste and run, as `mpremote run` and Thonny's green button do; `read` has the output.

        The board compiles the script as it arrives, so that the script's text never lies on its heap. Raises
        BoardError where it does not take the script, and DeadlineExceeded.
        """
        self._machine.console_write(_RESTART)
        self._until(_PROMPT)
        self._machine.console_write(_PASTE)
        self._until(_MAY_PASTE)
        window = int.from_bytes(self._take(2), "little")
        left, sent = window, 0
        while sent < len(script):
            while left == 0 or self._said:
                if (told := self._take(1)) != _NEXT_WINDOW:
                    raise BoardError(f"{self._deadline.what}: the board took {sent} bytes of the script, then {told!r}")
                left += window
            piece = script[sent : sent + left]
            self._machine.console_write(piece)
            sent, left = sent + len(piece), left - len(piece)
            self._said += self._repl.read(_TYPING_STEP_US)
        self._machine.console_write(_RUN)
        self._until(_END)

    def read(self) -> bytes:
        """The output of the next tenth of a second of simulated time."""
        self._said += self._repl.read(_STEP_US)
        said, self._said = self._said, b""
        return said

    def _take(self, count: int) -> bytes:
        while len(self._said) < count:
            self._deadline.check(f"{count} bytes of the board's")
            self._said += self._repl.read(_TYPING_STEP_US)
        taken, self._said = self._said[:count], self._said[count:]
        return taken

    def _until(self, end: bytes) -> bytes:
        while end not in self._said:
            self._deadline.check(f"{end!r}; the board printed {self._said[-60:]!r}")
            self._said += self._repl.read(_STEP_US)
        before, _, self._said = self._said.partition(end)
        return before
