"""The process that a board was started for, and ends with."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

_LOOK_S = 0.25


class Holder:
    """`pid`: of the process. Asked often, it looks a few times a second."""

    def __init__(self, pid: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_look_s = 0.0
        self._gone = False
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess:
            self._gone = True

    @property
    def gone(self) -> bool:
        """Whether it has ended, even where nobody has asked for its status yet or another process has its number."""
        if not self._gone and (now_s := self._clock()) >= self._next_look_s:
            self._next_look_s = now_s + _LOOK_S
            try:
                self._gone = not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE
            except psutil.NoSuchProcess:
                self._gone = True
        return self._gone
