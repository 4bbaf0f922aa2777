"""The raw prompt of a simulated board, typed to by mpremote."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, Deadline
from portbench.boards.prompt import Prompt
from portbench.runner.checks.speed.repl import Bridge, ReplMachine

_STEP_US: Final = 100_000
_PAUSE_US: Final = 10_000
"""After each piece of a program."""
_RAW: Final = b"\x01"
_PROMPT: Final = b"raw REPL; CTRL-B to exit\r\n>"


class RawPrompt(Prompt):
    """`image` on a machine that has just been switched on. Raises DeadlineExceeded. `pastes` as in Prompt, `bridge` as
    in EmulatedConfig."""

    def __init__(
        self, image: Path, board: BoardDefinition, deadline: Deadline, *, pastes: bool, bridge: Bridge = ()
    ) -> None:
        repl = ReplMachine(image, board, bridge=bridge)
        repl.start(deadline)
        self.repl = repl
        self._wire = _Wire(repl, deadline)
        super().__init__(self._wire, deadline.what, pastes=pastes)
        self._wire.enter()

    def read(self) -> bytes:
        """The output up to the end of the next tenth of a second of simulated time."""
        return self._wire.read(self._wire.wait())


class _Wire:
    def __init__(self, repl: ReplMachine, deadline: Deadline) -> None:
        self._repl = repl
        self._deadline = deadline
        self._said = b""

    def enter(self) -> None:
        """The board is at its friendly prompt, and needs no Ctrl-C."""
        self.write(_RAW)
        while _PROMPT not in self._said:
            self.wait()
        self._said = self._said[-1:]

    def read(self, n: int = 1) -> bytes:
        while len(self._said) < n:
            self.wait()
        taken, self._said = self._said[:n], self._said[n:]
        return taken

    def write(self, data: bytes) -> int:
        self._repl.machine.console_write(data)
        if len(data) > 1:
            self._said += self._repl.read(_PAUSE_US)
        return len(data)

    def inWaiting(self) -> int:
        return len(self._said)

    def wait(self) -> int:
        """Run for a tenth of a second, and return how many bytes wait then."""
        self._deadline.check(f"its answer; the board printed {self._said[-60:]!r}")
        self._said += self._repl.read(_STEP_US)
        return len(self._said)
