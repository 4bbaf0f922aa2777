"""A machine at MicroPython's raw prompt, typed to as mpremote and pyboard do."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.runner.speed.repl import ReplMachine

_STEP_US: Final = 100_000.0
_CHUNK_BYTES: Final = 256
_CHUNK_US: Final = 10_000.0
"""So many bytes, then a pause."""
_RAW, _RUN, _END = b"\x01", b"\x04", b"\x04"


class RawPrompt:
    """`image` on a machine that has just been switched on."""

    def __init__(self, image: Path, board: BoardDefinition, deadline: Deadline) -> None:
        repl = ReplMachine(image, board)
        repl.start(deadline)
        self._machine = repl.machine
        self._deadline = deadline
        self._said = b""
        self._machine.console_write(_RAW)
        self._until(b"raw REPL; CTRL-B to exit\r\n>")

    def execute(self, script: bytes) -> str:
        """What it prints. Raises BoardError for an exception, and DeadlineExceeded."""
        for start in range(0, len(script), _CHUNK_BYTES):
            self._machine.console_write(script[start : start + _CHUNK_BYTES])
            self._machine.run(self._machine.time_us + _CHUNK_US)
        self._machine.console_write(_RUN)
        self._until(b"OK")
        printed = self._until(_END)
        raised = self._until(_END)
        if raised:
            last = raised.decode(errors="replace").strip().splitlines()[-1:]
            raise BoardError(f"{self._deadline.what}: {''.join(last)}")
        return printed.decode(errors="replace")

    def _until(self, end: bytes) -> bytes:
        while end not in self._said:
            self._deadline.check(f"{end!r}; the board printed {self._said[-60:]!r}")
            self._machine.run(self._machine.time_us + _STEP_US)
            self._machine.usb_events()
            self._said += self._machine.console_read()
        before, _, self._said = self._said.partition(end)
        return before
