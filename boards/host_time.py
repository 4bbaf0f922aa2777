"""The clock that deadlines go by: the host's, less what other people's programs kept ours from running.

A deadline is to end what gets nowhere. Beside programs that take all processors, a board's process gets nowhere either,
and that is no fault of the board's: the time that this process and those it has started waited for a processor does not
count (Linux: `/proc/PID/schedstat`, run delay; elsewhere all time counts).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_LOOK_S: Final = 0.2
"""Between two looks at the processes: one costs some hundred microseconds."""
SLOWEST: Final = 20.0
"""However little ours get, a deadline ends after so many times its length."""
_MOST_MADE_UP_S: Final = 10.0
"""A wait is known once it is over: so much of it is made up for afterwards."""
_PROC: Final = Path("/proc")

Waited = Callable[[], dict[str, float]]


class HostTime:
    """Seconds. `waited`: how long each of our processes has waited for a processor since its start, by its name."""

    def __init__(self, waited: Waited, clock: Callable[[], float] = time.monotonic) -> None:
        self._waited = waited
        self._clock = clock
        self._seen_s = self._now_s = clock()
        self._looked_s = self._seen_s
        self._before = waited()
        self._lost_s = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Never goes back; stands nearly still while it makes up for a wait that is known only at its end."""
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
        # They wait at the same time, and for one another: the one that waited longest kept all of them.
        longest_s = max((now_s - self._before.get(name, 0.0) for name, now_s in waited.items()), default=0.0)
        self._lost_s = min(self._lost_s + longest_s, _MOST_MADE_UP_S)
        self._before, self._looked_s = waited, clock_s


def waited() -> dict[str, float]:
    """Of this process and of all that it has started, directly or not; nothing where the system does not tell."""
    found: dict[str, float] = {}
    left = [str(os.getpid())]
    while left:
        process = left.pop()
        try:
            found[process] = int((_PROC / process / "schedstat").read_text().split()[1]) / 1e9
            left += [child for task in (_PROC / process / "task").iterdir() for child in _children(task)]
        except (OSError, ValueError, IndexError):
            continue  # ended meanwhile, or no Linux
    return found


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:
        return []


_clock: tuple[int, HostTime] | None = None


def host_time() -> float:
    """Of this process."""
    global _clock
    if _clock is None or _clock[0] != os.getpid():
        _clock = (os.getpid(), HostTime(waited))
    return _clock[1]()
