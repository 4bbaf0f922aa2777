"""The real servers of a bench: one for each workload and address that boards reach this PC at."""

from __future__ import annotations

import contextlib
import socket
import threading
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from portbench.boards import Board, Deadline, DeadlineExceeded
from portbench.errors import PortbenchError
from portbench.runner.options import How
from portbench.runner.program import Peer
from portbench.where import Where
from portbench.workloads import Called, Readiness, Session, Turnaround, Workload

if TYPE_CHECKING:
    from portbench.server.tcp import WorkloadServer

_IDLE_TIMEOUT_S = 60.0  # the slowest published exchange took 0.26 s
_SESSION_END_S = 2.0  # between the client's result line and its connections' end
_LOOK_S = 0.01
_OWN_EXCHANGES = 500


class Servers:
    """Starts a server when a board first needs it, and stops all of them at `close`. Threads may share it."""

    def __init__(self, how: How, parallel: int = 1) -> None:
        """`parallel`: so many boards use them at once."""
        self._how = how
        self.parallel = parallel
        self._servers: dict[tuple[str, str], WorkloadServer] = {}
        self._starting = threading.Lock()
        self.reporter = threading.Lock()
        """Lock of the one native client that may run: its report does not say which board it is from."""
        self.own_turnaround: dict[str, Turnaround] = {}
        """Time that each server and this PC add to an exchange over the loopback, by address."""

    def peer_for(
        self, board: Board, workload: Workload, *, has_console: bool = True
    ) -> tuple[Peer | None, WorkloadServer | None]:
        """Return where `board` finds its server, or the port to listen on; None where the workload needs neither. None
        as server where the board brings its own. A client without a console has a server to report to, and to tell
        where it listens, whatever the workload. Raises PortbenchError."""
        if workload.readiness is Readiness.BOOTED and has_console:
            return None, None
        if isinstance(workload, Called) and has_console:
            return Peer(None, self._port_to_listen_on(board)), None
        if board.own_network is not None:
            return Peer(board.own_network.server, board.own_network.port), None
        if board.where is Where.SILICON:
            server = self.at(self._how.server_host or address_of_this_pc(), workload, self._how.port_to_boards)
        else:  # runs on this PC do not meet at a free port
            server = self.at("127.0.0.1", workload, self._how.server_port or 0)
        return Peer(IPv4Address(server.host), server.port), server

    def close(self) -> None:
        while self._servers:
            self._servers.popitem()[1].__exit__(None, None, None)

    def at(self, host: str, workload: Workload, port: int) -> WorkloadServer:
        """The server of `workload` that listens on `host`, started when it is first asked for."""
        from portbench.server.tcp import WorkloadServer  # boards that bring a network do without

        key = (host, workload.name)
        with self._starting:
            if key not in self._servers:
                server = WorkloadServer(workload, host, self._port(host, port), idle_timeout_s=_IDLE_TIMEOUT_S)
                self._servers[key] = server.__enter__()
                if (own := server.measure_own_turnaround(_OWN_EXCHANGES)) is not None:
                    self.own_turnaround[host] = own
                    server.wait_sessions(1, _SESSION_END_S)
            return self._servers[key]

    def _port_to_listen_on(self, board: Board) -> int:
        """A port of the board's own, or one that is free on this PC where the board shares its address."""
        if board.own_network is not None:
            return board.own_network.port
        if board.where is not Where.HOSTED:
            return self._how.fixed_port
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
            return port

    def _port(self, host: str, asked: int) -> int:
        """The port that was asked for: rows come one after the other, so another workload's server can go; of boards
        that are measured at once the first has it."""
        others = [key for key in self._servers if key[0] == host]
        if others and self.parallel > 1:
            return 0
        for key in others:
            self._servers.pop(key).__exit__(None, None, None)
        return asked


def sessions_since(server: WorkloadServer, number: int, address: str | None = None) -> list[Session]:
    """The good sessions among those numbered `number` or more, once all have ended; one may be a connection without an
    exchange, before the one that counts.

    `address`: only of this client, where several boards use the server.

    Those that have ended in time: the client has checked every answer itself, and the W5500's CLOSE command, which
    ioLibrary and adafruit_wiznet5k before 7 end with, sends no FIN, so the server cannot know that they have gone.
    """

    def of_client(peer: str) -> bool:
        return address is None or peer.rpartition(":")[0] == address

    def good() -> list[Session]:
        return [each for each in server.sessions() if each.number >= number and each.ok and of_client(each.peer)]

    def ended() -> bool:
        return not any(map(of_client, server.connected(number - 1))) and bool(good())

    with contextlib.suppress(DeadlineExceeded):
        Deadline(_SESSION_END_S, "server").poll(ended, _LOOK_S, "the session's end")
    return good()


def address_of_this_pc() -> str:
    """The address of the interface that the default route uses; nothing is sent. Raises PortbenchError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a documentation address (RFC 5737)
        except OSError as error:
            raise PortbenchError(
                f"no network for real boards ({error.strerror}); name it: -s server_host=ADDRESS"
            ) from error
        host: str = probe.getsockname()[0]
        return host
