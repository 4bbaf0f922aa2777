"""Finds a server without an announcement: it calls until a connection is taken."""

from ipaddress import IPv4Address
from typing import Any, Final, Protocol

from portbench.server.calls import Listening
from portbench.server.simulated_load_generator import NOTHING, RESET, CallingLan, Line, Reply, SimulatedLoadGenerator

POLL_US: Final = 100_000.0
"""The pause between two attempts."""
SETTLE_US: Final = 5_000_000.0
"""From the board's address to the first attempt. A board that has just joined a network announces itself by mDNS for
2 s; pico-examples' HTTP server runs out of lwIP's timers if it is called in that time."""
ANSWER_US: Final = 900_000.0
"""Longest wait for the answer to an attempt. It is shorter than the second after which the PC's TCP repeats its SYN, so
that a handshake's time is that of one SYN."""
SILENT_US: Final = 10_000_000.0
"""A board that has sent nothing for so long has a fixed address and waits for a call. A shorter time would fail: while
the PC's TCP asks for the MAC address of an unused address, it asks for no other."""


class PolledLan(CallingLan, Protocol):
    """The part of a simulated LAN that polling needs."""

    @property
    def board_address(self) -> str | None: ...
    @property
    def leased_us(self) -> float | None: ...
    @property
    def link_up(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...
    def lan_close(self, conn: int) -> bool: ...


class SimulatedPolling:
    """Makes one attempt after the other; the first accepted one is the first connection of `load`.

    It calls `port` at the address that the LAN knows of the board, or at `static` if the board sends nothing.
    `delay_us`: from the accepted attempt to the further connections that are open at once; longer than a machine runs
    between two looks. Refusals and silence are not failures: the driver of the machine ends the polling. Times are
    simulated microseconds.
    """

    def __init__(
        self,
        lan: PolledLan,
        load: SimulatedLoadGenerator,
        port: int,
        static: IPv4Address,
        delay_us: float,
        now_us: float,
    ) -> None:
        self._lan = lan
        self._load = load
        self._port = port
        self._static = static
        self._delay_us = delay_us
        self._static_us = now_us + SILENT_US
        self._settled_us: float | None = None
        self._next_us = now_us + POLL_US
        self._attempt: _Attempt | None = None
        self._conn = 0
        self.board: Listening | None = None
        """The address and port of the last attempt."""
        self.refusals = 0
        """Refusals of that port, in a row."""

    @property
    def taken(self) -> bool:
        """The board has accepted a connection."""
        return self._attempt is not None and self._attempt.line is not None

    @property
    def has_address(self) -> bool:
        """The address of the board is known."""
        return self._lan.board_address is not None

    def look(self, now_us: float) -> None:
        """Make the next attempt, unless one still waits; after an accepted one, open the other connections."""
        attempt = self._attempt
        if attempt is not None and attempt.taken_us is not None:
            self._load.call(self._lan, attempt.board, attempt.taken_us + self._delay_us)
            return
        if attempt is not None:
            if attempt.refused_us is not None:
                self._next_us = attempt.refused_us + POLL_US
                self.refusals += 1
                self._attempt = None
            elif now_us >= attempt.at_us + ANSWER_US:
                attempt.given_up = True
                self._lan.lan_close(self._conn)
                self._next_us = attempt.at_us + ANSWER_US + POLL_US
                self.refusals = 0
                self._attempt = None
            else:
                return
        address = self._where(now_us)
        if address is None:
            return
        board = Listening(address, self._port)
        if board != self.board:
            self.board, self.refusals = board, 0
        self._attempt = _Attempt(self._load, board, max(self._next_us, now_us))
        self._conn = self._lan.connect(str(board), self._attempt, self._attempt.at_us)

    def _where(self, now_us: float) -> IPv4Address | None:
        known = self._lan.board_address
        if known is not None:
            if self._settled_us is None:
                self._settled_us = (self._lan.leased_us or now_us) + SETTLE_US
                self._next_us = max(self._next_us, self._settled_us)
            return IPv4Address(known)
        waits = now_us >= self._static_us and self._lan.link_up and not self._lan.stats()["frames_from_board"]
        return self._static if waits or self.board is not None else None


class _Attempt:
    """One attempt, at `at_us`."""

    def __init__(self, load: SimulatedLoadGenerator, board: Listening, at_us: float) -> None:
        self.board = board
        self.at_us = at_us
        self.taken_us: float | None = None
        self.refused_us: float | None = None
        self.given_up = False
        self.line: Line | None = None
        self._load = load

    def accept(self, conn: int, peer: str, now_us: float) -> Reply:
        if self.given_up:
            return RESET
        if self.line is None:
            self.taken_us = now_us
            self.line = self._load.first(self.board, self.at_us)
        return self.line.accept(conn, peer, now_us)

    def receive(self, conn: int, data: bytes, now_us: float) -> Reply:
        return RESET if self.line is None else self.line.receive(conn, data, now_us)

    def closed(self, conn: int, reset: bool, now_us: float) -> Reply:
        if self.line is not None:
            return self.line.closed(conn, reset, now_us)
        self.refused_us = now_us
        return NOTHING
