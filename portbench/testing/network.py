"""The simulated PC's end of connections with the board."""

import re
from collections import deque
from collections.abc import Callable
from typing import Final

from portbench.testing.errors import NothingCame
from portbench.testing.simulation import DEFAULT_S, RecordedSimulation
from portbench.testing.transcript import Transcript

__tracebackhide__ = True
Reply = tuple[bytes, bool, bool, float | None]
MOST_WAITING: Final = 64
"""Connections that wait for `Listener.accept`; a further one is closed at once."""
_NOTHING: Final[Reply] = (b"", False, False, None)
_CLOSE: Final[Reply] = (b"", True, False, None)


class Connection:
    """The PC's end of one TCP connection. All waits are in simulated time and raise NothingCame."""

    def __init__(self, simulation: RecordedSimulation, peer: str) -> None:
        self._simulation = simulation
        self._power_up = simulation.power_ups
        self._number = -1
        self._came = Transcript()
        self.peer = peer
        """The board's end, ADDRESS:PORT."""
        self.open = False
        self._closed = self._reset = False

    @property
    def closed(self) -> bool:
        """True if the board has closed its half, or the connection has ended otherwise."""
        return self._closed or self._without_power

    @property
    def reset(self) -> bool:
        """True if it ended by a reset, without an answer, or with the board's power."""
        return self._reset or self._without_power

    @property
    def _without_power(self) -> bool:
        return self._simulation.power_ups != self._power_up

    @property
    def received(self) -> bytes:
        """Everything that came."""
        return self._came.data

    def send(self, data: bytes) -> None:
        if self._without_power or not self._simulation.machine.lan_send(self._number, data):
            raise NothingCame(f"{self}: is gone, and takes nothing more\n{self.report()}")

    def expect(self, pattern: str | bytes, within_s: float = DEFAULT_S) -> re.Match[bytes]:
        """Wait for `pattern`, a regular expression, after the last match, and return the match."""
        compiled = re.compile(pattern.encode() if isinstance(pattern, str) else pattern)

        def look() -> re.Match[bytes] | None:
            found = self._came.find(compiled)
            if found is None and self.closed:
                raise NothingCame(f"{self}: ended before {compiled.pattern!r} came\n{self.report()}")
            return found

        return self._simulation.wait(look, within_s, f"{self}: {compiled.pattern!r}", self.report)

    def read(self, within_s: float = DEFAULT_S) -> bytes:
        """Wait until the board has closed its half, and return the bytes after the last `expect`."""
        self._simulation.wait(lambda: self.closed, within_s, f"{self}: its end", self.report)
        return self._came.take()

    def receive(self, within_s: float = DEFAULT_S) -> bytes:
        """Wait for bytes after the last `expect`, and return all that came; empty once the board has ended."""
        came = b""

        def look() -> bool:
            nonlocal came
            ended = self.closed
            came = self._came.take()
            return bool(came) or ended

        self._simulation.wait(look, within_s, f"{self}: bytes, or its end", self.report)
        return came

    def close(self) -> None:
        """Close the PC's half; the board may still send."""
        if not self._without_power:
            self._simulation.machine.lan_close(self._number)

    def __str__(self) -> str:
        return f"connection with {self.peer}"

    def report(self) -> str:
        """Return the last lines that came, and those of the console."""
        return f"the connection's last lines:\n{self._came.tail()}\n{self._simulation.came_on_console()}"

    def opened(self, number: int) -> None:
        self._number, self.open = number, True

    def feed(self, data: bytes) -> None:
        self._came.feed(data)

    def ended(self, reset: bool) -> None:
        self._closed, self._reset = True, self._reset or reset


class _Peers:
    """The engine's side of connections, see `portbench_engine.LanApp`. `opened`: takes one, or does not."""

    def __init__(self, opened: Callable[[int, str], Connection | None]) -> None:
        self._opened = opened
        self.connections: dict[int, Connection] = {}

    def accept(self, conn: int, peer: str, now_us: float) -> Reply:
        connection = self._opened(conn, peer)
        if connection is None:
            return _CLOSE
        self.connections[conn] = connection
        connection.opened(conn)
        return _NOTHING

    def receive(self, conn: int, data: bytes, now_us: float) -> Reply:
        if conn in self.connections:
            self.connections[conn].feed(data)
        return _NOTHING

    def closed(self, conn: int, reset: bool, now_us: float) -> Reply:
        if conn in self.connections:
            self.connections.pop(conn).ended(reset)
        return _CLOSE


def called(simulation: RecordedSimulation, peer: str) -> Connection:
    """Return a connection that the PC opens from now on."""
    connection = Connection(simulation, peer)
    peers = _Peers(lambda number, peer: connection)
    peers.connections[simulation.machine.connect(peer, peers)] = connection
    return connection


class Listener:
    """A port of the simulated PC. It stays open when the board's power is cycled."""

    def __init__(self, simulation: RecordedSimulation, port: int) -> None:
        self._simulation = simulation
        self._port = port
        self._peers = _Peers(self._opened)
        self._waiting: deque[Connection] = deque()
        self._listen()
        simulation.on_power_up.append(self._listen)

    def accept(self, within_s: float = DEFAULT_S) -> Connection:
        """Wait for the next connection that the board opens, and return it. Raises NothingCame."""
        what = f"a connection to port {self._port} of the simulated PC"
        self._simulation.wait(lambda: bool(self._waiting), within_s, what, self._simulation.came_on_console)
        return self._waiting.popleft()

    def _listen(self) -> None:
        self._peers.connections.clear()
        self._waiting.clear()
        self._simulation.machine.listen(self._port, self._peers)

    def _opened(self, number: int, peer: str) -> Connection | None:
        """Take a connection, unless too many wait."""
        if len(self._waiting) >= MOST_WAITING:
            return None
        self._waiting.append(Connection(self._simulation, peer))
        return self._waiting[-1]
