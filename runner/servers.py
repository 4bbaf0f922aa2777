"""The real ping-pong servers of a bench run: one for each address that boards reach this PC at."""

from __future__ import annotations

import contextlib
import socket
from contextlib import ExitStack
from ipaddress import IPv4Address
from typing import Protocol

from portbench.boards import Board, Deadline, DeadlineExceeded, Where
from portbench.runner.options import BenchOptions
from portbench.runner.program import Peer
from portbench.server.records import SessionRecord, Turnaround
from portbench.server.tcp import PingPongServer, ServerError

_IDLE_TIMEOUT_S = 60.0  # the slowest published message took 0.26 s
_SESSION_END_S = 2.0  # between the client's result line and its connection's end
_LOOK_S = 0.01
_OWN_MESSAGES = 500


class SessionSource(Protocol):
    """A `PingPongServer`, here or in another process."""

    host: str
    port: int

    @property
    def accepted(self) -> int: ...
    def sessions(self) -> list[SessionRecord]: ...
    def wait_report(self, timeout_s: float, *, after: int = -1) -> SessionRecord: ...


class Servers:
    """Starts a server when a board first needs it, and stops all of them at `close`."""

    def __init__(self, options: BenchOptions) -> None:
        self._options = options
        self._stack = ExitStack()
        self._servers: dict[str, PingPongServer] = {}
        self.own_turnaround: dict[str, Turnaround] = {}
        """What each server and this PC add to a message, over the loopback, by address."""

    def peer_for(self, board: Board) -> tuple[Peer, SessionSource | None]:
        """Where `board` finds its server; None as server where the board brings its own. Raises ServerError."""
        if board.own_network is not None:
            return Peer(board.own_network.server, board.own_network.port), None
        server = self.at(self._host(board.where))
        return Peer(IPv4Address(server.host), server.port), server

    def close(self) -> None:
        self._servers.clear()
        self._stack.close()

    def _host(self, where: Where) -> str:
        if where != "silicon":
            return "127.0.0.1"
        return self._options.server_host or address_of_this_pc()

    def at(self, host: str) -> SessionSource:
        """The server that listens on `host`, started when it is first asked for. Raises ServerError."""
        if host not in self._servers:
            server = PingPongServer(host, self._options.server_port, idle_timeout_s=_IDLE_TIMEOUT_S)
            self._stack.enter_context(server)
            self._servers[host] = server
            self.own_turnaround[host] = server.measure_own_turnaround(_OWN_MESSAGES)
            server.wait_sessions(1, _SESSION_END_S)
        return self._servers[host]


def session_since(
    server: SessionSource, number: int, messages: int, address: str | None = None
) -> SessionRecord | None:
    """The good session of `messages` messages among those numbered `number` or more, once it has ended.

    `address`: only of this client, where several boards use the server.

    None where none has ended in time: the client has checked every answer itself, and the W5500's CLOSE command, which
    ioLibrary and adafruit_wiznet5k before 7 end with, sends no FIN, so the server cannot know that they have gone.
    """
    limit = Deadline(_SESSION_END_S, "server")
    with contextlib.suppress(DeadlineExceeded):
        return limit.poll(lambda: _find(server, number, messages, address), _LOOK_S, "the session's end")
    return None


def _find(server: SessionSource, number: int, messages: int, address: str | None) -> SessionRecord | None:
    ended = (record for record in server.sessions() if record.number >= number)
    if address is not None:
        ended = (record for record in ended if record.peer.rpartition(":")[0] == address)
    return next((record for record in ended if record.ok and record.messages == messages), None)


def address_of_this_pc() -> str:
    """The address of the interface that the default route uses; nothing is sent. Raises ServerError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a documentation address (RFC 5737)
        except OSError as error:
            raise ServerError(
                f"no network for real boards ({error.strerror}); name it: --server-host ADDRESS"
            ) from error
        host: str = probe.getsockname()[0]
        return host
