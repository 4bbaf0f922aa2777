"""The simulated PC takes the cable out, or its server away, and puts it back."""

from __future__ import annotations

from typing import Final, Protocol

from portbench.server.simulated import SimulatedServer
from portbench.workloads import Disturbance

AFTER_US: Final = 10_000.0
"""From the question to the cable: the PC's answers and acknowledgements are under way by then."""


class Network(Protocol):
    """A simulated LAN, as far as this needs it."""

    def listen(self, port: int, app: SimulatedServer) -> None: ...
    def unlisten(self, port: int) -> bool: ...
    def set_cable(self, plugged: bool) -> None: ...


class Disturbing:
    """One disturbance, which was asked for at `asked_us`; it begins and ends at the first look after its time."""

    def __init__(
        self, lan: Network, port: int, server: SimulatedServer, disturbance: Disturbance, asked_us: float
    ) -> None:
        self._lan = lan
        self._port = port
        self._server = server
        self._kind = disturbance.kind
        self._begins_us = asked_us + (AFTER_US if disturbance.kind == "cable" else 0.0)
        self._ends_us = self._begins_us + disturbance.lasts_us
        self._begun = self._ended = disturbance.kind == "reset"

    def look(self, now_us: float) -> None:
        if not self._begun and now_us >= self._begins_us:
            self._begun = True
            if self._kind == "cable":
                self._lan.set_cable(False)
            else:
                self._lan.unlisten(self._port)
        if self._begun and not self._ended and now_us >= self._ends_us:
            self._ended = True
            if self._kind == "cable":
                self._lan.set_cable(True)
            else:
                self._lan.listen(self._port, self._server)
