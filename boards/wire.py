"""`Wire`: a line to a board's console, read and typed at with deadlines."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from portbench.boards.timing import Deadline


class Wire(ABC):
    """Waits end at the deadline that was set last, with DeadlineExceeded. `port`: its path or URL."""

    def __init__(self, port: str) -> None:
        self.port = port
        self.is_open = True
        self._buffer = bytearray()
        self._deadline: Deadline | None = None
        self._waiting_for = ""

    def until(self, deadline: Deadline, waiting_for: str) -> None:
        """From now on, wait for `waiting_for` and no longer than this."""
        self._deadline, self._waiting_for = deadline, waiting_for

    def read(self, n: int = 1) -> bytes:
        """Exactly `n` bytes."""
        while len(self._buffer) < n:
            self._wait()
        return self._taken(n)

    def read_until_quiet(self, quiet_s: float, most_s: float) -> bytes:
        """Everything until nothing has come for `quiet_s`, or for `most_s` in all."""
        goes_on = self._timer(most_s)
        data = b""
        while goes_on() and (more := self.read_some(quiet_s)):
            data += more
        return data

    @abstractmethod
    def read_some(self, wait_s: float) -> bytes:
        """Return the bytes that have come, after waiting at most `wait_s` for the first."""

    @abstractmethod
    def inWaiting(self) -> int:
        """Count the bytes that can be read now: pyserial's old name, which mpremote calls."""

    @abstractmethod
    def write(self, data: bytes) -> int: ...

    def close(self) -> None:
        self.is_open = False

    @abstractmethod
    def _wait(self) -> None:
        """Wait for a moment, for more bytes."""

    @abstractmethod
    def _timer(self, seconds: float) -> Callable[[], bool]:
        """Return a function that is true until `seconds` from now."""

    def _taken(self, n: int | None = None) -> bytes:
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data
