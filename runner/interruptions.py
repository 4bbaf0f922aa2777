"""Ctrl-C, SIGTERM and a terminal that closes: each ends a bench, and ends it once."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from portbench.signals import ENDING

_LOST_S: Final = 2.0
"""After this a further signal counts again: the first one's exception may have ended in a destructor, which nobody
hears of."""
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
