"""`Prompt`: a board's Python prompt, typed to by mpremote's transport over a wire of any kind."""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from mpremote.transport import TransportError, TransportExecError  # type: ignore[import-untyped]
from mpremote.transport_serial import SerialTransport  # type: ignore[import-untyped]

from portbench.errors import BoardError, DeadlineExceeded

T = TypeVar("T")

INTERRUPT: Final = b"\r\x03\x03"
"""Ctrl-C twice: a client may catch the first."""
LEAVE_RAW: Final = b"\r\x02"
"""Ctrl-B: out of a raw REPL that was left open. Enter alone opens CircuitPython's REPL."""
_WRITTEN_BYTES: Final = 512
_READ_BYTES: Final = 1024
_USB_PACKET_BYTES: Final = 64


class ByteStream(Protocol):
    """The part of a `Wire` that mpremote needs."""

    def read(self, n: int = 1) -> bytes: ...
    def write(self, data: bytes) -> int: ...
    def inWaiting(self) -> int: ...  # pyserial's old name, which mpremote calls


class ReplError(BoardError):
    """The board's Python raised an exception. The text ends with the exception's own line; `traceback` is all of it."""

    def __init__(self, text: str, traceback: str) -> None:
        super().__init__(text)
        self.traceback = traceback


class _Transport(SerialTransport):  # type: ignore[misc]
    """mpremote's transport, without its constructor, which opens a port itself and prints what it meets."""

    def __init__(self, wire: ByteStream, name: str, pastes: bool) -> None:
        self.serial = wire
        self.in_raw_repl = False
        self.use_raw_paste = pastes
        self.mounted = False
        self.device_name = name
        self.is_pty = True  # read byte by byte, without asking how many wait

    def exec_raw_no_follow(self, command: bytes | str) -> None:
        """MicroPython before 1.20 hangs where the code and its Ctrl-D fill USB packets of 64 bytes exactly (#11253)."""
        code = command.encode() if isinstance(command, str) else command
        super().exec_raw_no_follow(code if (len(code) + 1) % _USB_PACKET_BYTES else code + b"\n")


class Prompt:
    """The prompt behind `wire`; `name` is the board's in errors.

    All but `enter_raw` and `leave_raw` need the raw REPL. They raise ReplError for an exception on the board,
    BoardError for an answer that no REPL gives, and the errors of the wire.
    """

    def __init__(self, wire: ByteStream, name: str, *, pastes: bool = True) -> None:
        """`pastes`: code is compiled as it arrives; else its text lies on the board's heap first."""
        self._name = name
        self._transport: Any = _Transport(wire, name, pastes)

    @property
    def is_raw(self) -> bool:
        """True if this side has put the board into its raw REPL."""
        return bool(self._transport.in_raw_repl)

    def forget(self) -> None:
        """The board may be in any state from now on."""
        self._transport.in_raw_repl = False

    def enter_raw(self) -> None:
        """Raises TransportError, and the errors of the wire."""
        self._transport.enter_raw_repl(soft_reset=False)

    def leave_raw(self) -> None:
        self._transport.exit_raw_repl()

    def execute(self, code: str) -> str:
        """Run `code` and return what it printed."""
        printed: bytes = self._guarded(lambda: self._transport.exec(code))
        return printed.decode("utf-8", "replace")

    def start(self, code: str) -> None:
        """Run `code`, which restarts the board or whose output is read elsewhere, and wait for nothing."""
        self._guarded(lambda: self._transport.exec_raw_no_follow(code))
        self.forget()

    def write_file(self, path: str, content: bytes) -> None:
        self._guarded(lambda: self._transport.fs_writefile(path, content, chunk_size=_WRITTEN_BYTES))

    def read_file(self, path: str) -> bytes:
        return bytes(self._guarded(lambda: self._transport.fs_readfile(path, chunk_size=_READ_BYTES)))

    def soft_reset(self) -> None:
        """Restart the interpreter without running the user's script."""
        self._guarded(lambda: self._transport.enter_raw_repl(soft_reset=True))

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except TransportExecError as error:
            traceback = error.error_output.strip()
            last = traceback.splitlines()[-1] if traceback else "an exception without text"
            raise ReplError(f"{self._name}: {last}", traceback) from None
        except TransportError as error:
            self.forget()
            raise BoardError(f"{self._name}: the REPL did not answer as it should: {error}") from error
        except DeadlineExceeded:
            self.forget()
            raise
