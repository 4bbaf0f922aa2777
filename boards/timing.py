"""Deadlines: every wait in portbench has one and says what it waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from portbench.boards.host_time import host_time
from portbench.errors import DeadlineExceeded

T = TypeVar("T")


class Deadline:
    """A fixed moment on the clock of `boards.host_time` by which `what` has to be done.

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
