"""A session at the REPL of either runtime over a serial port, with deadlines; and the question which runtime it is."""

import contextlib

from mpremote.transport import TransportError  # type: ignore[import-untyped]

from portbench.boards.board import RuntimeIdentity
from portbench.boards.prompt import INTERRUPT, LEAVE_RAW, Prompt
from portbench.boards.timing import Deadline
from portbench.boards.wire import Wire
from portbench.errors import BoardError, ConsoleLost, DeadlineExceeded

_ATTEMPT_S = 3.0
_QUIET_S = 0.05
_CLOSE_S = 0.5


class Repl:
    """The board's Python prompt behind `wire`. All waits end at the deadline given."""

    def __init__(self, wire: Wire, name: str, *, pastes: bool = True) -> None:
        """`pastes` as in Prompt."""
        self.name = name
        self.wire = wire
        self._prompt = Prompt(wire, name, pastes=pastes)

    def interrupt(self, deadline: Deadline) -> str:
        """Stop the program that runs, whatever state a session left, and return what the board printed."""
        self.wire.until(deadline, f"{self.name} to take Ctrl-C")
        said = b""
        for keys in (INTERRUPT, LEAVE_RAW):
            self.wire.write(keys)
            said += self.wire.read_until_quiet(_QUIET_S, _ATTEMPT_S)
        self._prompt.forget()
        return said.decode("utf-8", "replace")

    def enter(self, deadline: Deadline) -> None:
        """Get to the raw REPL. Raises DeadlineExceeded when the board never gives a prompt."""
        waiting_for = f"{self.name} to give a REPL prompt"
        while not self._prompt.is_raw:
            attempt = deadline.part(_ATTEMPT_S, deadline.what)
            try:
                self.interrupt(attempt)
                self.wire.until(attempt, waiting_for)
                self._prompt.enter_raw()
            except DeadlineExceeded:
                if deadline.expired:
                    raise deadline.exceeded(waiting_for) from None
            except TransportError as error:
                deadline.check(f"{waiting_for} ({error})")

    def leave(self, deadline: Deadline) -> None:
        """Go back to the friendly prompt, as the next user expects it."""
        if self._prompt.is_raw:
            self.wire.until(deadline, f"{self.name} to leave the raw REPL")
            self._prompt.leave_raw()
            self.wire.read_until_quiet(_QUIET_S, 0.5)

    def _raw(self, deadline: Deadline, waiting_for: str) -> Prompt:
        """The raw REPL, for one step."""
        self.enter(deadline)
        self.wire.until(deadline, waiting_for)
        return self._prompt

    def execute(self, code: str, deadline: Deadline, waiting_for: str) -> str:
        """Run `code` and return what it printed. Raises ReplError for an exception on the board."""
        return self._raw(deadline, waiting_for).execute(code)

    def execute_and_lose(self, code: str, deadline: Deadline) -> None:
        """Run `code`, which restarts the board, and wait until the port has gone."""
        prompt = self._raw(deadline, f"{self.name} to restart")
        try:
            prompt.start(code)
            while True:
                deadline.check(f"{self.name} to restart")
                self.wire.read_some(deadline.remaining)
        except ConsoleLost:
            return

    def write_file(self, path: str, content: bytes, deadline: Deadline) -> None:
        self._raw(deadline, f"{self.name} to write {path}").write_file(path, content)

    def read_file(self, path: str, deadline: Deadline) -> bytes:
        return self._raw(deadline, f"{self.name} to read {path}").read_file(path)

    def soft_reset(self, deadline: Deadline) -> None:
        """Restart the interpreter, without running the user's script."""
        self._raw(deadline, f"{self.name} to soft-reset").soft_reset()

    def close(self) -> None:
        """Close the port, and leave the board at its friendly prompt."""
        if self._prompt.is_raw:
            with contextlib.suppress(BoardError):
                self.wire.until(Deadline(_CLOSE_S, self.name), f"{self.name} to leave the raw REPL")
                self.wire.write(LEAVE_RAW)
        self.wire.close()


_MARK = "PORTBENCH-IDENTITY"

ASK = f"""
import sys
i = sys.implementation
m = getattr(i, '_machine', '')
if not m:
    import os
    m = os.uname().machine
try:
    import board
    b = board.board_id
except Exception:
    b = getattr(i, '_build', '')
print({_MARK!r}, i.name, '.'.join([str(p) for p in i.version[:3]]), b or '-', m)
"""
"""`_build` is MicroPython's since 1.25; CircuitPython has `board.board_id`."""


def identify(repl: Repl, deadline: Deadline) -> RuntimeIdentity:
    """Raises BoardError for an answer that cannot be."""
    answer = repl.execute(ASK, deadline, f"{repl.name} to say what it is")
    for line in answer.splitlines():
        words = line.split(" ", 4)
        if len(words) == 5 and words[0] == _MARK:
            board_id = "" if words[3] == "-" else words[3]
            return RuntimeIdentity(family=words[1], version=words[2], board_id=board_id, machine=words[4].strip())
    raise BoardError(f"{repl.name}: asked what it is, it answered {answer.strip()[:80]!r}")
