"""The plan of the PC's connections to a listening board, without I/O: the real and the simulated PC both follow it."""

from collections.abc import Callable

from portbench.workloads.conversation import Conversation


class LoadGenerator:
    """Plans `connections` in all, `at_once` of them at a time, each `pause_us` after the one before.

    `conversation` makes the PC's part of a connection. A failed connection ends the run, which then has no figures,
    unless the workload counts failures: then only a connection that the board never accepts ends the run. `farewell`
    makes the part of a last connection, opened after all others, which tells the board to stop. `tls`: the PC shakes
    hands on each connection, with a server of that name below that root (DER). `port`: of a board that announces none.
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
        tls: tuple[str, bytes] | None = None,
        port: int | None = None,
    ) -> None:
        for name, value, least in (("connections", connections, 1), ("at_once", at_once, 1), ("pause_us", pause_us, 0)):
            if value < least:
                raise ValueError(f"a load generator's {name} is {value}; use {least} or more")
        self.connections = connections + (farewell is not None)
        """The number of all connections, with the farewell."""
        self.counts_failures = counts_failures
        self.at_once = min(at_once, connections)
        self.pause_us = pause_us
        self.tls = tls
        self.port = port
        self._conversation = conversation
        self._farewell = farewell
        self._begun = 0
        self._open = 0
        self._failed = False

    def begin(self) -> Conversation | None:
        """The conversation of the next connection, opened now; None if none may be opened."""
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
        """Note the end of a connection; a connection that is not `good` ends the run."""
        if not self._open:
            raise ValueError("no connection is open that could have ended")
        self._open -= 1
        self._failed = self._failed or not good

    @property
    def over(self) -> bool:
        """No connection is open, and none will be."""
        return not self._open and (self._failed or self._begun == self.connections)
