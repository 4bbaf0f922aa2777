"""The board's pins in a test: their levels and edges, voltages and wires from outside, and a VCD file of them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from portbench.boards.pins import pin_number, pin_volts
from portbench.errors import LibraryMissing
from portbench.testing.errors import NothingCame
from portbench.testing.simulation import DEFAULT_S, RecordedSimulation

__tracebackhide__ = True
MOST_EDGES: Final = 1_000_000
"""The most that are kept of one pin: the last ones."""
_LEVEL: Final = {"low": False, "high": True}


class Edge(NamedTuple):
    """A change of a pin's level. `time_us`: simulated time as in `Board.time_us`."""

    time_us: float
    high: bool


class Pin:
    """One GPIO. Edges are recorded from the first `Board.pin` of it on, over all power cycles."""

    def __init__(self, simulation: RecordedSimulation, number: int) -> None:
        self._simulation = simulation
        self.number = number
        self.edges: deque[Edge] = deque(maxlen=MOST_EDGES)
        self._volts: float | None = None
        self._wires: set[int] = set()
        self._seen_us = simulation.now_us
        self._last = self.level

    @property
    def level(self) -> bool:
        """The level now; True is high."""
        return self._simulation.machine.pin(self.number)

    @property
    def driven(self) -> bool:
        """True if the chip drives the pin."""
        return bool(self._simulation.machine.pins()[1] >> self.number & 1)

    def hold(self, value: str | float) -> None:
        """Hold the pin at `low`, `high` or a voltage, as a button or a potentiometer does, until `release`.

        Stronger than a pull, weaker than an output. Raises ValueError.
        """
        self._volts = pin_volts(value)
        self._apply()

    def release(self) -> None:
        self._volts = None
        self._apply()

    def wire(self, other: Pin) -> None:
        """Lay a jumper wire to another pin of the board."""
        self._wires.add(other.number)
        self._apply()

    def unwire(self, other: Pin) -> None:
        for one, two in ((self, other), (other, self)):
            one._wires.discard(two.number)
        self._simulation.machine.unwire(self.number, other.number)

    def wait_for(self, level: str, within_s: float = DEFAULT_S) -> float:
        """Wait until the pin is `low` or `high`, and return the time of that edge, or of now.

        Raises NothingCame.
        """
        if self.level is _level(level):
            self._seen_us = self._simulation.now_us
            return self._seen_us
        return self.wait_for_edge(level, within_s).time_us

    def wait_for_edge(self, level: str, within_s: float = DEFAULT_S) -> Edge:
        """Wait for the first edge to `low` or `high` after the one that was waited for last. Raises NothingCame."""
        wanted = _level(level)

        def look() -> Edge | None:
            return next((edge for edge in self.edges if edge.time_us > self._seen_us and edge.high is wanted), None)

        found = self._simulation.wait(look, within_s, f"an edge of GP{self.number} to {level}", self._came)
        self._seen_us = found.time_us
        return found

    def applied_again(self) -> None:
        """Hold the pin and lay its wires on a machine that was switched on again."""
        self._apply()
        self.changed(self._simulation.now_us, self.level)

    def changed(self, time_us: float, high: bool) -> None:
        if high is not self._last:
            self._last = high
            self.edges.append(Edge(time_us, high))

    def _apply(self) -> None:
        machine = self._simulation.machine
        machine.set_voltage(self.number, self._volts)
        for other in self._wires:
            machine.wire(self.number, other)

    def _came(self) -> str:
        lines = [f"  {edge.time_us / 1e6:.6f} s {'high' if edge.high else 'low'}" for edge in list(self.edges)[-10:]]
        level = "high" if self.level else "low"
        return f"GP{self.number} is {level}; its last edges:\n" + ("\n".join(lines) or "  (none)")


class Pins:
    """The pins of a board that a test has asked for."""

    def __init__(self, simulation: RecordedSimulation) -> None:
        self._simulation = simulation
        self._pins: dict[int, Pin] = {}

    def get(self, name: str | int) -> Pin:
        """`GP15`, or 15. Raises ValueError."""
        number = pin_number(name)
        if not self._pins:
            self._simulation.on_power_up.append(self._powered_up)
            self._simulation.record_pins(self._records)
        if number not in self._pins:
            self._pins[number] = Pin(self._simulation, number)
        return self._pins[number]

    def save_vcd(self, path: Path) -> None:
        """Save the edges of all these pins for PulseView or GTKWave. Raises NothingCame where no pin was asked for."""
        with LibraryMissing.unless_installed("test", "save_vcd"):
            from vcd import VCDWriter
        if not self._pins:
            raise NothingCame("no pin was recorded: call pin() before the time that the file is to show")
        edges = sorted((edge, pin.number) for pin in self._pins.values() for edge in pin.edges)
        first = {
            number: not next(iter(pin.edges)).high if pin.edges else pin.level for number, pin in self._pins.items()
        }
        with path.open("w", encoding="ascii") as file, VCDWriter(file, timescale="1 ns", date="") as writer:
            wires = {
                number: writer.register_var("board", f"GP{number}", "wire", size=1, init=int(level))
                for number, level in sorted(first.items())
            }
            for edge, number in edges:
                writer.change(wires[number], round(edge.time_us * 1000), int(edge.high))
            writer.close(round(self._simulation.now_us * 1000))

    def _powered_up(self) -> None:
        self._simulation.record_pins(self._records)
        for pin in self._pins.values():
            pin.applied_again()

    def _records(self, before_us: float, records: Iterable[dict[str, Any]]) -> None:
        for record in records:
            for number, pin in self._pins.items():
                pin.changed(before_us + record["t_us"], bool(record["level"] >> number & 1))


def _level(name: str) -> bool:
    if name not in _LEVEL:
        raise ValueError(f"{name!r} is no level; use low or high")
    return _LEVEL[name]
