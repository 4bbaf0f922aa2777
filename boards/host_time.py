"""The clock of deadlines: the host's, without the time in which other programs kept ours from running.

A deadline ends a wait for a board that makes no progress. Beside programs that take all processors a board's process
makes none either, through no fault of the board. So the time does not count in which this process and those that it
started waited for a processor (Linux: `/proc/PID/schedstat`, run delay; elsewhere all time counts).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_LOOK_S: Final = 0.2
"""Time between two looks at the processes; a look costs some hundred microseconds."""
SLOWEST: Final = 20.0
"""A deadline ends after so many times its length in any case."""
_MOST_MADE_UP_S: Final = 10.0
"""A wait is known only once it is over; this much of it is made up for afterwards."""
_PROC: Final = Path("/proc")

Waited = Callable[[], dict[str, float]]


class HostTime:
    """The clock, in seconds. `waited`: how long each of our processes has waited for a processor, by its name."""

    def __init__(self, waited: Waited, clock: Callable[[], float] = time.monotonic) -> None:
        self._waited = waited
        self._clock = clock
        self._seen_s = self._now_s = clock()
        self._looked_s = self._seen_s
        self._before = waited()
        self._lost_s = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Return the time, which never goes back, and stands nearly still while it makes up for a wait."""
        with self._lock:
            clock_s = self._clock()
            if clock_s - self._looked_s >= _LOOK_S:
                self._look(clock_s)
            passed_s = clock_s - self._seen_s
            self._seen_s = clock_s
            made_up_s = min(self._lost_s, passed_s * (1 - 1 / SLOWEST))
            self._lost_s -= made_up_s
            self._now_s += passed_s - made_up_s
            return self._now_s

    def _look(self, clock_s: float) -> None:
        waited = self._waited()
        # They wait at the same time, and for one another: the longest wait counts for all.
        longest_s = max((now_s - self._before.get(name, 0.0) for name, now_s in waited.items()), default=0.0)
        self._lost_s = min(self._lost_s + longest_s, _MOST_MADE_UP_S)
        self._before, self._looked_s = waited, clock_s


def waited() -> dict[str, float]:
    """Return the waits of this process and its descendants; an empty dict where the system does not tell."""
    found: dict[str, float] = {}
    left = [str(os.getpid())]
    while left:
        process = left.pop()
        try:
            found[process] = int((_PROC / process / "schedstat").read_text().split()[1]) / 1e9
            left += [child for task in (_PROC / process / "task").iterdir() for child in _children(task)]
        except (OSError, ValueError, IndexError):
            continue  # it has just ended, or this is not Linux
    return found


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:
        return []


_clock: tuple[int, HostTime] | None = None


def host_time() -> float:
    """Return the time by this process's clock."""
    global _clock
    if _clock is None or _clock[0] != os.getpid():
        _clock = (os.getpid(), HostTime(waited))
    return _clock[1]()
