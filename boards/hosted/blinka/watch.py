"""The PC beside a script: reads its output, and ends a script that waits for something that will not come."""

import _thread
import io
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

_LOOK_S: Final = 0.1


class Overheard(io.TextIOBase):
    """Writes to `to`; `heard` is called with every whole line."""

    def __init__(self, to: TextIO, heard: Callable[[str], None]) -> None:
        self._to = to
        self._heard = heard
        self._unfinished = ""

    def write(self, text: str) -> int:
        written = self._to.write(text)
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._heard(line)
        return written

    def flush(self) -> None:
        self._to.flush()


class ProgramWatch:
    """Asks `given_up` while the `with` block runs in the main thread, and interrupts that once there is an answer."""

    def __init__(self, given_up: Callable[[], str | None]) -> None:
        self.fault: str | None = None
        self._given_up = given_up
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._over.set()
        self._thread.join()
        return isinstance(error, KeyboardInterrupt) and self.fault is not None

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            self.fault = self._given_up()
            if self.fault is not None:
                _thread.interrupt_main()
                return
