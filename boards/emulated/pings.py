"""Pings of an emulated board from its simulated PC. They go out in simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from portbench_engine import Machine

_SEQUENCES: Final = 1 << 16


class Pings:
    """The pings of one board, numbered. See `server.simulated_pc.Pinger`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._next = 0
        self._round_trips_us: dict[int, float] = {}

    def send(self, address: str, size: int, at_us: float) -> int:
        """Send `size` bytes at `at_us`, or now. Raises ValueError where that is impossible."""
        number = self._next % _SEQUENCES
        data = bytes(index & 0xFF for index in range(size))
        if not self._machine.ping(address, number, data, max(at_us, self._machine.time_us)):
            raise ValueError("too many pings wait for their time")
        self._next += 1
        self._round_trips_us.pop(number, None)
        return number

    def take(self, numbers: list[int]) -> dict[int, float]:
        for _, number, _, sent_us, received_us in self._machine.ping_replies():
            self._round_trips_us[number] = received_us - sent_us
        return {number: self._round_trips_us.pop(number) for number in numbers if number in self._round_trips_us}
