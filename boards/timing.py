"""Deadlines: every wait in portbench has one and says what it waited for.

Their clock is the host's, without the time in which other programs kept ours from running. A deadline ends a wait for
a board that makes no progress. Beside programs that take all processors a board's process makes none either, through no
fault of the board. So the time does not count in which this process, those that it started and those of the emulated
boards that it talks to waited for a processor, or were stopped (Linux: `/proc/PID/schedstat`, run delay, and the state
in `/proc/PID/stat`; elsewhere all time counts).
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from portbench.errors import DeadlineExceeded

_LOOK_S: Final = 0.2
"""Time between two looks at the processes; a look costs some hundred microseconds."""
SLOWEST: Final = 20.0
"""A deadline ends after so many times its length in any case."""
_MOST_MADE_UP_S: Final = 10.0
"""A wait is known only once it is over; this much of it is made up for afterwards."""
_PROC: Final = Path("/proc")
_STOPPED: Final = ("T", "t")
"""States of a process that a signal or a debugger has stopped, see proc(5)."""

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


class Waits:
    """Tells how long each process has waited: for a processor, or for the end of a stop (SIGSTOP, Ctrl-Z).

    Nothing tells how long a process was stopped: a stop counts from one call to the next. `clock`: in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_s = clock()
        self._stopped_s: dict[str, float] = {}
        self._others: Counter[int] = Counter()

    def include(self, pid: int) -> None:
        """Count a process that is not a descendant of ours, too, until `exclude`."""
        self._others[pid] += 1

    def exclude(self, pid: int) -> None:
        self._others -= Counter([pid])

    def __call__(self) -> dict[str, float]:
        """Return the waits of all these in s, by their numbers; an empty dict where the system does not report them."""
        now_s = self._clock()
        passed_s, self._looked_s = now_s - self._looked_s, now_s
        found: dict[str, float] = {}
        stopped_s: dict[str, float] = {}
        for process in map(str, with_descendants([os.getpid(), *self._others])):
            try:
                waited_s = int((_PROC / process / "schedstat").read_text().split()[1]) / 1e9
                is_stopped = (_PROC / process / "stat").read_text().rpartition(")")[2].split()[0] in _STOPPED
            except (OSError, ValueError, IndexError):
                continue  # it has just ended, or this is not Linux
            stopped_s[process] = self._stopped_s.get(process, 0.0) + (passed_s if is_stopped else 0.0)
            found[process] = waited_s + stopped_s[process]
        self._stopped_s = stopped_s
        return found


waited: Final = Waits()
"""The waits of this process, of its descendants, and of the emulated boards that it talks to."""


@contextmanager
def counting(*pids: int | None) -> Iterator[None]:
    """Have deadlines wait for these processes, too, where they are not descendants of ours."""
    others = [pid for pid in pids if pid is not None]
    for pid in others:
        waited.include(pid)
    try:
        yield
    finally:
        for pid in others:
            waited.exclude(pid)


def with_descendants(pids: Iterable[int]) -> list[int]:
    """Return these processes, and those that they have started, and so on; these alone where it is not Linux."""
    found = list(pids)
    for process in found:  # which grows
        with suppress(OSError):
            found += [int(child) for task in (_PROC / str(process) / "task").iterdir() for child in _children(task)]
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


T = TypeVar("T")


class Deadline:
    """A fixed moment on `host_time` by which `what` has to be done.

    `clock` and `sleep` are for tests.
    """

    def __init__(
        self,
        seconds: float,
        what: str,
        *,
        clock: Callable[[], float] = host_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not seconds > 0:
            raise ValueError(f"a deadline for {what} has to be more than 0 s, not {seconds} s")
        self.seconds = seconds
        self.what = what
        self._clock = clock
        self._sleep = sleep
        self._end = clock() + seconds
        self._reason: str | None = None

    @property
    def remaining(self) -> float:
        """Seconds left, never negative: fit for any timeout argument."""
        return max(0.0, self._end - self._clock())

    @property
    def expired(self) -> bool:
        return self._clock() >= self._end

    def check(self, waiting_for: str) -> None:
        """Raise DeadlineExceeded, which names `waiting_for`, if the time is up."""
        if self.expired:
            raise self.exceeded(waiting_for)

    def exceeded(self, waiting_for: str) -> DeadlineExceeded:
        """The error for a wait that some other call timed."""
        if self._reason is not None:
            return DeadlineExceeded(f"{self.what}: {self._reason}")
        return DeadlineExceeded(f"{self.what}: still waiting for {waiting_for} after {self.seconds:g} s")

    def cut(self, seconds: float, reason: str) -> None:
        """It ends `seconds` from now at the latest: `reason` is why nothing is left to wait for. From any thread."""
        self._reason = reason
        self._end = min(self._end, self._clock() + seconds)

    def poll(self, fn: Callable[[], T | None], interval_s: float, waiting_for: str) -> T:
        """Call `fn` every `interval_s` until it returns something true, and return that.

        `fn` is called at least once, and once more when the time is up.
        """
        while True:
            last = self.expired
            value = fn()
            if value:
                return value
            if last:
                raise self.exceeded(waiting_for)
            self._sleep(min(interval_s, self.remaining))

    def part(self, seconds: float, what: str) -> Deadline:
        """A deadline for one step of this one: at most `seconds`, and never past this one's end."""
        left = max(min(seconds, self.remaining), 1e-9)
        return Deadline(left, what, clock=self._clock, sleep=self._sleep)
