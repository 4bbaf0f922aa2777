"""A session with the REPL of either runtime: mpremote's transport on a wire with deadlines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import serial
from mpremote.transport import TransportError, TransportExecError  # type: ignore[import-untyped]
from mpremote.transport_serial import SerialTransport  # type: ignore[import-untyped]

from portbench.boards.errors import BoardError, ConsoleLost, DeadlineExceeded
from portbench.boards.timing import Deadline
from portbench.boards.usb.wire import Wire

_ATTEMPT_S = 3.0
_QUIET_S = 0.05
_CLOSE_S = 0.5
_INTERRUPT = b"\r\x03\x03"  # Ctrl-C twice: a client may catch the first
_LEAVE_RAW = b"\r\x02"  # Ctrl-B: out of a raw REPL that somebody left open; Enter alone opens CircuitPython's REPL


class ReplError(BoardError):
    """The board's Python raised an exception. The text ends with the exception's own line; `traceback` is all of it."""

    def __init__(self, text: str, traceback: str) -> None:
        super().__init__(text)
        self.traceback = traceback


class Repl:
    """The board's Python prompt on an open port. All waits end at the deadline given."""

    def __init__(self, port: serial.Serial, name: str, watch: Callable[[], None] | None = None) -> None:
        self.name = name
        self.wire = Wire(port, name, watch)
        # Made without its constructor, which opens a port of its own and prints what it meets.
        self._transport: Any = SerialTransport.__new__(SerialTransport)
        self._transport.serial = self.wire
        self._transport.in_raw_repl = False
        self._transport.use_raw_paste = True
        self._transport.mounted = False
        self._transport.device_name = name
        self._transport.is_pty = True  # read byte by byte, without asking how many wait

    def interrupt(self, deadline: Deadline) -> str:
        """Stop whatever runs, whatever state an earlier session left; what the board said meanwhile."""
        self.wire.until(deadline, f"{self.name} to take Ctrl-C")
        said = b""
        for keys in (_INTERRUPT, _LEAVE_RAW):
            self.wire.write(keys)
            said += self.wire.read_until_quiet(_QUIET_S, _ATTEMPT_S)
        self._transport.in_raw_repl = False
        return said.decode("utf-8", "replace")

    def enter(self, deadline: Deadline) -> None:
        """Get to the raw REPL. Raises DeadlineExceeded when the board never gives a prompt."""
        waiting_for = f"{self.name} to give a REPL prompt"
        while not self._transport.in_raw_repl:
            attempt = deadline.part(_ATTEMPT_S, deadline.what)
            try:
                self.interrupt(attempt)
                self.wire.until(attempt, waiting_for)
                self._transport.enter_raw_repl(soft_reset=False)
            except DeadlineExceeded:
                if deadline.expired:
                    raise deadline.exceeded(waiting_for) from None
            except TransportError as error:
                deadline.check(f"{waiting_for} ({error})")

    def leave(self, deadline: Deadline) -> None:
        """Back to the friendly prompt, as the next person expects it."""
        if self._transport.in_raw_repl:
            self.wire.until(deadline, f"{self.name} to leave the raw REPL")
            self._transport.exit_raw_repl()
            self.wire.read_until_quiet(_QUIET_S, 0.5)

    def execute(self, code: str, deadline: Deadline, waiting_for: str) -> str:
        """Run `code` and return what it printed. Raises ReplError for an exception on the board."""
        self.enter(deadline)
        self.wire.until(deadline, waiting_for)
        printed: bytes = self._guarded(lambda: self._transport.exec(code))
        return printed.decode("utf-8", "replace")

    def execute_and_lose(self, code: str, deadline: Deadline) -> None:
        """Run `code`, which restarts the board, and wait until the port has gone."""
        self.enter(deadline)
        self.wire.until(deadline, f"{self.name} to restart")
        try:
            self._guarded(lambda: self._transport.exec_raw_no_follow(code))
            self._transport.in_raw_repl = False
            while True:
                deadline.check(f"{self.name} to restart")
                self.wire.read_some(deadline.remaining)
        except ConsoleLost:
            return

    def write_file(self, path: str, content: bytes, deadline: Deadline) -> None:
        self.enter(deadline)
        self.wire.until(deadline, f"{self.name} to write {path}")
        self._guarded(lambda: self._transport.fs_writefile(path, content, chunk_size=512))

    def read_file(self, path: str, deadline: Deadline) -> bytes:
        self.enter(deadline)
        self.wire.until(deadline, f"{self.name} to read {path}")
        return bytes(self._guarded(lambda: self._transport.fs_readfile(path, chunk_size=1024)))

    def soft_reset(self, deadline: Deadline) -> None:
        """Restart the interpreter, without running the user's script."""
        self.enter(deadline)
        self.wire.until(deadline, f"{self.name} to soft-reset")
        self._guarded(lambda: self._transport.enter_raw_repl(soft_reset=True))

    def close(self) -> None:
        """Close the port, and leave the friendly prompt to whoever comes next."""
        if self._transport.in_raw_repl:
            with contextlib.suppress(BoardError):
                self.wire.until(Deadline(_CLOSE_S, self.name), f"{self.name} to leave the raw REPL")
                self.wire.write(_LEAVE_RAW)
        self.wire.close()

    def _guarded(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except TransportExecError as error:
            traceback = error.error_output.strip()
            last = traceback.splitlines()[-1] if traceback else "an exception without text"
            raise ReplError(f"{self.name}: {last}", traceback) from None
        except TransportError as error:
            self._transport.in_raw_repl = False
            raise BoardError(f"{self.name}: the REPL did not answer as it should: {error}") from error
        except DeadlineExceeded:
            self._transport.in_raw_repl = False
            raise
