"""Datagrams from the simulated PC to a UDP service of a board, each sent after the answer to the one before."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final, Protocol

from portbench.server.calls import Listening
from portbench.server.simulated_polling import SILENT_US, PolledLan
from portbench.workloads import Session
from portbench.workloads.conversation import Requests

PC_PORT: Final = 49_152
AGAIN_US: Final = 1_000_000.0
"""After a datagram without an answer."""
GIVEN_UP_US: Final = 10_000_000.0
"""Without an answer, once there was one."""


class AskedLan(PolledLan, Protocol):
    """The part of a simulated LAN that requests need."""

    def udp_listen(self, port: int, app: SimulatedRequests) -> None: ...
    def udp_send(self, port: int, peer: str, data: bytes) -> bool: ...


class SimulatedRequests:
    """Finds the board as `SimulatedPolling` does, and sends it `requests`. Times are simulated microseconds.

    `static`: the address of a board that sends nothing for 10 s from `now_us` on.
    """

    refusals = 0
    """Datagrams are not refused."""

    def __init__(self, lan: AskedLan, requests: Requests, static: IPv4Address, now_us: float) -> None:
        self._lan = lan
        self._requests = requests
        self._static = static
        self._static_us = now_us + SILENT_US
        self._sent_us: float | None = None
        self._first_us = 0.0
        self._sendings = 0
        self._bytes = 0
        self._received_us: list[float] = []
        self.board: Listening | None = None
        """The board that the PC sends to."""
        self.error: str | None = None
        lan.udp_listen(PC_PORT, self)

    @property
    def taken(self) -> bool:
        """The board has answered."""
        return bool(self._received_us)

    @property
    def has_address(self) -> bool:
        """The address of the board is known."""
        return self._lan.board_address is not None

    @property
    def whole(self) -> bool:
        """All requests are answered, or no further answer is waited for."""
        return self.error is not None or len(self._received_us) == self._requests.count

    def look(self, now_us: float) -> None:
        """Send the first datagram, or an unanswered one again."""
        if self.whole or (self._sent_us is not None and now_us < self._sent_us + AGAIN_US):
            return
        if self.taken and now_us >= self._received_us[-1] + GIVEN_UP_US:
            self.error = f"no answer for {GIVEN_UP_US / 1e6:g} s of simulated time"
            return
        known = self._lan.board_address
        waits = now_us >= self._static_us and self._lan.link_up
        if known is None and not waits:
            return
        self.board = Listening(self._static if known is None else IPv4Address(known), self._requests.port)
        if self._sent_us is None:
            self._first_us = now_us
        self._sent_us = now_us
        self._sendings += 1
        self._lan.udp_send(PC_PORT, str(self.board), self._requests.payload)

    def receive(self, peer: str, data: bytes, now_us: float) -> list[tuple[float, bytes]]:
        """Note an answer, and return the next datagram, which goes after the PC's turnaround."""
        if self.whole or self.board is None or peer != str(self.board):
            return []
        if not self.taken:
            self._sendings = 1  # until now the board was not up
        self._received_us.append(now_us)
        self._bytes += len(data)
        if self.whole:
            return []
        self._sent_us = now_us
        self._sendings += 1
        return [(0.0, self._requests.payload)]

    def sessions(self) -> list[Session]:
        """All requests as one session; none before the first datagram."""
        if self.board is None:
            return []
        answers = len(self._received_us)
        return [
            Session(
                number=0,
                peer=str(self.board),
                started_us=self._first_us,
                ended_us=self._received_us[-1] if self.whole and self.taken else None,
                exchanges=answers,
                received_bytes=self._bytes,
                error=self.error,
                received_us=list(self._received_us),
                arrivals=answers,
                attempts=self._sendings - answers + (answers == self._requests.count),
                established_us=self._received_us[0] if self.taken else None,
            )
        ]
