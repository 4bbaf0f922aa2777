"""The ping-pong server on the simulated PC: the same protocol object as the real server's, driven by the LAN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portbench.server.protocol import PingPong, ProtocolError


@dataclass(frozen=True)
class LanSession:
    """One client of the simulated PC's server; times are simulated microseconds since the power cycle.

    `received_us`: when each message came. `report`: what a client without a console told. `error`: None for a good one.
    """

    number: int
    peer: str
    started_us: float
    ended_us: float | None
    messages: int
    received_us: list[float]
    error: str | None
    report: dict[str, Any] | None


class LanServer:
    """Serves every connection of one port; keeps a record of each. Times are simulated microseconds."""

    def __init__(self) -> None:
        self._killed = False
        self.answered = 0
        """Messages answered, of all connections together."""
        self._open: dict[int, PingPong] = {}
        self._records: dict[int, dict[str, Any]] = {}

    def accept(self, conn: int, peer: str, now_us: float) -> None:
        self._open[conn] = PingPong()
        self._records[conn] = {
            "number": len(self._records),
            "peer": peer,
            "started_us": now_us,
            "ended_us": None,
            "messages": 0,
            "received_us": [],
            "error": None,
            "report": None,
        }

    def receive(self, conn: int, data: bytes, now_us: float) -> tuple[bytes, bool, bool]:
        """What to send, whether to close then, whether to reset instead."""
        if self._killed:
            self.closed(conn, now_us)
            return b"", False, True
        protocol, record = self._open.get(conn), self._records[conn]
        if protocol is None:
            return b"", False, False
        try:
            answer = protocol.receive(data)
        except ProtocolError as error:
            record["error"] = str(error)
            self._settle(record, protocol, now_us)
            del self._open[conn]
            return error.answer, True, False
        self._settle(record, protocol, now_us)
        return answer, False, False

    def closed(self, conn: int, now_us: float) -> None:
        record = self._records.get(conn)
        if record is None:
            return
        record["ended_us"] = now_us
        protocol = self._open.pop(conn, None)
        if protocol is not None:
            try:
                protocol.eof()
            except ProtocolError as error:
                record["error"] = str(error)

    def kill(self) -> None:
        """The server's process is gone: whoever sends to it is reset from now on."""
        self._killed = True

    def sessions(self) -> list[dict[str, Any]]:
        """One record per connection so far, in the order in which they came."""
        return [dict(record) for record in self._records.values()]

    @property
    def reported(self) -> bool:
        """A client has sent its report."""
        return any(record["report"] is not None for record in self._records.values())

    def _settle(self, record: dict[str, Any], protocol: PingPong, now_us: float) -> None:
        self.answered += protocol.messages - record["messages"]
        record["received_us"] += [now_us] * (protocol.messages - record["messages"])
        record["messages"] = protocol.messages
        record["report"] = protocol.report
