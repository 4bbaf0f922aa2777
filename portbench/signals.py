"""The signals that end a process: Ctrl-C, SIGTERM and the loss of its terminal."""

import contextlib
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final, NoReturn

ENDING: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has two
)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer signals that have a handler to the end of the block, while it acquires or releases something. Keep it
    short. Does nothing in other threads than the main one, which alone gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handled = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    for number in handled:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number, frame in came[:1]:
            handled[number](number, frame)


def end_at_first_signal(end: Callable[[int], NoReturn]) -> None:
    """Call `end` at the first signal. Later ones are ignored, so that they do not disturb the cleaning up.

    A signal that is ignored now stays ignored, as nohup wants it.
    """
    taken = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def take(number: int, frame: FrameType | None) -> NoReturn:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)
        end(number)

    for number in taken:
        signal.signal(number, take)


_LOST_S: Final = 2.0
"""After this a further signal counts again: Python drops the first one's exception if it is raised in a destructor."""
_MOST_HANDLES: Final = 256


class Interruptions:
    """Turns the first signal into KeyboardInterrupt. Later signals must not disturb the cleaning up, which ends boards
    and removes their folders."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: dict[int, Any] = {}
        self._terminals: set[int] = set()
        self._first_s: float | None = None
        self._name = ""
        self._between = False
        self._ending = False

    @property
    def came(self) -> bool:
        return self._first_s is not None

    def listen(self) -> None:
        """Takes signals from now on, in the main thread only. An ignored signal, as under nohup, stays ignored."""
        with contextlib.suppress(ValueError):  # not the main thread
            for number in ENDING:
                if number not in self._before and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._take)
        self._terminals = {device for handle in (0, 1, 2) if (device := _terminal(handle)) is not None}

    def check(self) -> None:
        """Raises KeyboardInterrupt where one has been lost."""
        if self.came:
            raise KeyboardInterrupt(self._name)

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """While a row is measured, a signal ends it at once. Between rows it waits for the next: pytest's steps must
        not be cut off there."""
        self._between = False
        try:
            self.check()
            yield
        finally:
            self._between = True

    def ending(self) -> None:
        """The end has begun: no further signal counts."""
        self._ending = True

    def restore(self) -> None:
        """Restores the former handlers, unless a signal came: then this process ends undisturbed."""
        if not self.came:
            while self._before:
                signal.signal(*self._before.popitem())

    def _take(self, number: int, frame: FrameType | None) -> None:
        if number == getattr(signal, "SIGHUP", None):
            self._let_go()
        now_s = self._clock()
        if self._ending or (self._first_s is not None and now_s - self._first_s < _LOST_S):
            return
        self._first_s, self._name = now_s, signal.Signals(number).name
        if not self._between:
            raise KeyboardInterrupt(self._name)

    def _let_go(self) -> None:
        """Each write to a terminal that is gone would fail, and nothing of ours is to end by that."""
        for handle in range(_MOST_HANDLES):
            with contextlib.suppress(OSError):
                if os.fstat(handle).st_rdev in self._terminals and not os.isatty(handle):
                    nowhere = os.open(os.devnull, os.O_RDWR)
                    os.dup2(nowhere, handle)
                    os.close(nowhere)


def _terminal(handle: int) -> int | None:
    """The terminal's device that `handle` is open on."""
    with contextlib.suppress(OSError):
        if os.isatty(handle) and stat.S_ISCHR(os.fstat(handle).st_mode):
            return os.fstat(handle).st_rdev
    return None
