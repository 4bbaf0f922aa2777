"""The port at which gdb finds an emulated board. The engine speaks gdb's protocol; this file holds the connection.

The board runs until gdb connects, and stops then. While it is stopped no simulated time passes, so that a run with gdb
has the figures of one without, unless gdb changes memory or registers.
"""

import select
import socket
from collections.abc import Callable
from typing import Final

from portbench_engine import EngineError, GdbSession, Machine

_HOST: Final = "127.0.0.1"
_SEND_S: Final = 10.0
_RECEIVE_BYTES: Final = 4096
_UNENDED_BYTES: Final = 1 << 16
"""Longest data without the end of a packet: the engine keeps it."""


class GdbServer:
    """Listens on `port` of this machine's loopback; 0: a free one. Raises OSError."""

    def __init__(self, port: int, log: Callable[[str], None]) -> None:
        self._log = log
        self._client: socket.socket | None = None
        self._session: GdbSession | None = None
        self._unended = 0
        """Bytes since the last end of a packet."""
        self._listener = socket.create_server((_HOST, port))
        self.port: int = self._listener.getsockname()[1]

    @property
    def attached(self) -> bool:
        return self._session is not None

    @property
    def running(self) -> bool:
        """True if gdb has not stopped the board."""
        return self._session is None or self._session.running

    @property
    def hint(self) -> str:
        """The command that a user types to connect."""
        return f"gdb-multiarch -ex 'target extended-remote :{self.port}'"

    def serve(self, machine: Machine, wait_s: float) -> None:
        """Pass on data of gdb's, also such as comes within `wait_s`."""
        waiting = [self._listener] if self._client is None else [self._listener, self._client]
        for ready in select.select(waiting, [], [], wait_s)[0]:
            if ready is self._listener:
                self._accept(machine)
            elif ready is self._client:
                self._receive(machine)

    def ran(self, machine: Machine, stop: str) -> None:
        """Tell gdb what stopped the machine, where that concerns it."""
        if self._session is None:
            return
        if stop == "locked up":
            locked_up = [core for core, state in enumerate(machine.stats()["core_states"]) if state == "LockedUp"]
            self._session.interrupt(machine, locked_up[0] if locked_up else 0)
        else:
            self._session.report(machine)
        self._send()

    def exited(self, machine: Machine) -> None:
        """Tell gdb that the program has ended, and hang up."""
        if self._session is not None:
            self._session.exited(machine)
            self._send()
        self.hang_up("the run is over")

    def hang_up(self, why: str) -> None:
        """End the connection, if there is one."""
        if self._client is not None:
            self._log(f"gdb: {why}")
            self._client.close()
        self._client = self._session = None

    def close(self) -> None:
        self.hang_up("the board goes away")
        self._listener.close()

    def _accept(self, machine: Machine) -> None:
        client, peer = self._listener.accept()
        if self._client is not None:
            self._log(f"gdb: {peer[0]}:{peer[1]} refused, as another one is attached")
            client.close()
            return
        client.settimeout(_SEND_S)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client, self._session, self._unended = client, GdbSession(machine), 0
        self._log(f"gdb: {peer[0]}:{peer[1]} attached")

    def _receive(self, machine: Machine) -> None:
        assert self._client is not None and self._session is not None
        try:
            data = self._client.recv(_RECEIVE_BYTES)
        except OSError:
            data = b""
        _, end, rest = data.rpartition(b"#")
        self._unended = len(rest) + (0 if end else self._unended)
        if not data or self._unended > _UNENDED_BYTES:
            self._session = GdbSession(machine)  # a new session has no breakpoints
            self.hang_up(f"more than {_UNENDED_BYTES} bytes without the end of a packet" if data else "detached")
            return
        try:
            self._session.receive(machine, data)
        except EngineError as error:
            self.hang_up(str(error))
            return
        self._send()
        if self._session is not None and self._session.over:
            self.hang_up("detached")

    def _send(self) -> None:
        if self._client is None or self._session is None:
            return
        try:
            self._client.sendall(self._session.output())
        except OSError as error:
            self.hang_up(f"does not listen: {error}")
