"""How the PC connects to a board that listens, as an object without I/O.

The real PC and the simulated ones all ask the same object which connection to open next.
"""

from __future__ import annotations

from collections.abc import Callable

from portbench.workloads.conversation import Conversation


class LoadGenerator:
    """Opens `connections` in all, `at_once` of them at a time, each `pause_us` after the one that it follows.

    `conversation` makes the PC's part of a connection. After one that failed no other is opened, as the run has no
    figures, unless the workload counts failures: then only one that is not taken at all ends the run. `farewell` makes
    a last connection's, which is opened once all others are over and tells the board that it may stop.
    """

    def __init__(
        self,
        conversation: Callable[[], Conversation],
        connections: int,
        *,
        at_once: int = 1,
        pause_us: int = 0,
        counts_failures: bool = False,
        farewell: Callable[[], Conversation] | None = None,
    ) -> None:
        for name, value, least in (("connections", connections, 1), ("at_once", at_once, 1), ("pause_us", pause_us, 0)):
            if value < least:
                raise ValueError(f"a load generator's {name} is {value}; use {least} or more")
        self.connections = connections + (farewell is not None)
        """All of them, the farewell among them."""
        self.counts_failures = counts_failures
        self.at_once = min(at_once, connections)
        self.pause_us = pause_us
        self._conversation = conversation
        self._farewell = farewell
        self._begun = 0
        self._open = 0
        self._failed = False

    def begin(self) -> Conversation | None:
        """The next connection's, which is opened now; None where none may be opened."""
        if self._failed or self._begun == self.connections or self._open == self.at_once:
            return None
        make = self._conversation
        if self._farewell is not None and self._begun == self.connections - 1:
            if self._open:
                return None
            make = self._farewell
        self._begun += 1
        self._open += 1
        return make()

    def ended(self, *, good: bool) -> None:
        """One that was begun is over; `good` unless the run can have no figures for it."""
        if not self._open:
            raise ValueError("no connection is open that could have ended")
        self._open -= 1
        self._failed = self._failed or not good

    @property
    def over(self) -> bool:
        """Nothing is open, and nothing will be."""
        return not self._open and (self._failed or self._begun == self.connections)
