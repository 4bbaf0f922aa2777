"""Pings of an emulated board from its simulated PC. They go out in simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from portbench_engine import Machine

MAX_BYTES: Final = 1472
"""The most that one frame can carry."""
_SEQUENCES: Final = 1 << 16
_KEPT: Final = 4096


class Pings:
    """The pings of one board. Each request has a number, so that several clients do not take each other's answers."""

    def __init__(self) -> None:
        self._next = 0
        self._answers: dict[int, dict[str, Any]] = {}

    def powered_up(self) -> None:
        """Begin the numbers anew: they are in the requests, and all runs are to be alike."""
        self._next = 0
        self._answers.clear()

    def send(self, machine: Machine, address: str | None, size: int, at_us: float) -> dict[str, Any]:
        """Send `size` bytes at `at_us`, or now. Raises ValueError where that is impossible."""
        address = address or machine.board_address
        if address is None:
            raise ValueError("the board has no address yet; name one")
        if not 0 <= size <= MAX_BYTES:
            raise ValueError(f"{size} bytes: use 0 to {MAX_BYTES}")
        number = self._next % _SEQUENCES
        data = bytes(index & 0xFF for index in range(size))
        at_us = max(at_us, machine.time_us)
        if not machine.ping(address, number, data, at_us):
            raise ValueError("too many pings wait for their time")
        self._next += 1
        self._answers.pop(number, None)
        return {"number": number, "address": address, "at_us": at_us}

    def take(self, machine: Machine, numbers: list[int]) -> dict[str, Any]:
        """Return the answers to `numbers` so far, each once, and the time."""
        for address, number, data, sent_us, received_us in machine.ping_replies():
            self._answers[number] = {
                "number": number,
                "address": address,
                "bytes": len(data),
                "round_trip_us": received_us - sent_us,
            }
            if len(self._answers) > _KEPT:
                self._answers.pop(next(iter(self._answers)))
        found = [self._answers.pop(number) for number in numbers if number in self._answers]
        return {"answers": found, "time_us": machine.time_us}


class RunPings:
    """The pings of the simulated PC's part in a run, see `server.simulated_pc`."""

    def __init__(self, pings: Pings, machine: Machine) -> None:
        self._pings = pings
        self._machine = machine

    def send(self, address: str, size: int, at_us: float) -> int:
        number: int = self._pings.send(self._machine, address, size, at_us)["number"]
        return number

    def take(self, numbers: list[int]) -> dict[int, float]:
        answers = self._pings.take(self._machine, numbers)["answers"]
        return {each["number"]: each["round_trip_us"] for each in answers}
