"""The pings of one conversation on the simulated LAN: scheduled at once, looked after until the last is over."""

from __future__ import annotations

from typing import Protocol

from portbench.server.recording import Recording
from portbench.workloads import Ping, PingPlan


class Pinger(Protocol):
    """Sends echo requests at simulated times, each with its number."""

    def send(self, address: str, size: int, at_us: float) -> int: ...
    def take(self, numbers: list[int]) -> dict[int, float]:
        """The round trips of those that have been answered, in microseconds, each once."""
        ...


class SimulatedPings:
    """Of one connection. `start_us`: when the first request goes."""

    def __init__(self, recording: Recording, plan: PingPlan, pinger: Pinger, start_us: float) -> None:
        self.recording = recording
        self._pinger = pinger
        self._end_us = start_us + plan.lasts_us
        address = recording.peer.rpartition(":")[0]
        self._sent = [(pinger.send(address, size, start_us + at_us), start_us + at_us, size) for at_us, size in plan]
        self._waiting = [number for number, _, _ in self._sent]
        self._round_trips_us: dict[int, float] = {}

    def over_us(self, now_us: float) -> float | None:
        """When the last was answered or given up; None before that."""
        answered = self._pinger.take(self._waiting)
        self._round_trips_us |= answered
        self._waiting = [number for number in self._waiting if number not in answered]
        if not self._waiting:
            return max(at_us + self._round_trips_us[number] for number, at_us, _ in self._sent)
        return self._end_us if now_us >= self._end_us else None

    def pings(self) -> list[Ping]:
        """In the order in which they were sent."""
        return [Ping(size, self._round_trips_us.get(number)) for number, _, size in self._sent]
