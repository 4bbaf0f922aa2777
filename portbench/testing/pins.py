"""The board's pins in a test: their levels and edges, voltages and wires from outside, and a VCD file of them all."""

from collections import deque
from pathlib import Path
from typing import Final

from portbench_engine import Machine
from portbench_engine import board as engine
from portbench_engine.board import MOST_EDGES, Edge

from portbench.boards.emulated.simulation import ps
from portbench.boards.pins import pin_number, pin_volts
from portbench.errors import LibraryMissing
from portbench.testing.errors import NothingCame
from portbench.testing.simulation import DEFAULT_S, RecordedSimulation

__tracebackhide__ = True
_LEVEL: Final = {"low": False, "high": True}


class Pin(engine.Pin):
    """One GPIO. Edges are recorded from the first `Board.pin` of it on, over all power cycles; the last ones are kept.

    Their times are those of `Board.time_us`.
    """

    def __init__(self, simulation: RecordedSimulation, number: int) -> None:
        super().__init__(simulation.machine, number)
        self._simulation = simulation
        self.edges: deque[Edge] = deque(maxlen=MOST_EDGES)
        self._seen_ps = simulation.now_ps
        self._last = self.high

    @property
    def level(self) -> bool:
        """The level now; True is high."""
        return self.high

    def hold(self, volts: str | float) -> None:
        """Hold the pin at `low`, `high` or a voltage, as a button or a potentiometer does, until `release`.

        Stronger than a pull, weaker than an output. Raises ValueError.
        """
        super().hold(pin_volts(volts))

    def wait_for(self, level: str, within_s: float = DEFAULT_S) -> float:
        """Wait until the pin is `low` or `high`, and return the time of that edge, or of now.

        Raises NothingCame.
        """
        if self.level is _level(level):
            self._seen_ps = self._simulation.now_ps
            return self._simulation.now_us
        return self.wait_for_edge(level, within_s).time_us

    def wait_for_edge(self, level: str, within_s: float = DEFAULT_S) -> Edge:
        """Wait for the first edge to `low` or `high` after the one that was waited for last. Raises NothingCame."""
        wanted = _level(level)

        def look() -> Edge | None:
            return next((edge for edge in self.edges if edge.time_ps > self._seen_ps and edge.high is wanted), None)

        found = self._simulation.wait(look, within_s, f"an edge of GP{self.number} to {level}", self._came)
        self._seen_ps = found.time_ps
        return found

    def powered_up(self, machine: Machine) -> None:
        """Hold the pin and lay its wires on `machine`, which may be another one now."""
        if machine is not self._machine:
            machine.set_voltage(self.number, self._machine.voltage(self.number))
            for one, other in self._machine.wires():
                if self.number == one:
                    machine.wire(one, other)
            self._machine = machine
        self.changed(self._simulation.now_ps, self.high)

    def changed(self, time_ps: int, high: bool) -> None:
        if high is not self._last:
            self._last = high
            self.edges.append(Edge(time_ps, self.number, high))

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
        simulation = self._simulation
        if not self._pins:
            simulation.on_power_up.append(self._powered_up)
            simulation.on_step.append(self._look)
            self._record()
        if number not in self._pins:
            self._pins[number] = Pin(simulation, number)
        return self._pins[number]

    def save_vcd(self, path: Path) -> None:
        """Save the edges of all these pins for PulseView or GTKWave. Raises NothingCame where no pin was asked for."""
        with LibraryMissing.unless_installed("test", "save_vcd"):
            from vcd import VCDWriter
        if not self._pins:
            raise NothingCame("no pin was recorded: call pin() before the time that the file is to show")
        first = {
            number: not next(iter(pin.edges)).high if pin.edges else pin.level for number, pin in self._pins.items()
        }
        with path.open("w", encoding="ascii") as file, VCDWriter(file, timescale="1 ns", date="") as writer:
            wires = {
                number: writer.register_var("board", f"GP{number}", "wire", size=1, init=int(level))
                for number, level in sorted(first.items())
            }
            for edge in sorted(edge for pin in self._pins.values() for edge in pin.edges):
                writer.change(wires[edge.pin], round(edge.time_us * 1000), int(edge.high))
            writer.close(round(self._simulation.now_us * 1000))

    def _record(self) -> None:
        self._simulation.machine.trace_start(["pins"], MOST_EDGES)

    def _powered_up(self) -> None:
        self._record()
        for pin in self._pins.values():
            pin.powered_up(self._simulation.machine)

    def _look(self) -> None:
        simulation = self._simulation
        records, lost = simulation.machine.trace_take()
        if lost:
            simulation.events.append(f"{simulation.now_us / 1e6:.6f} s {lost} edges of pins were not recorded")
        before_ps = simulation.now_ps - simulation.time_ps
        for record in records:
            for number, pin in self._pins.items():
                pin.changed(before_ps + ps(record["t_us"]), bool(record["level"] >> number & 1))


def _level(name: str) -> bool:
    if name not in _LEVEL:
        raise ValueError(f"{name!r} is not a level; use low or high")
    return _LEVEL[name]
