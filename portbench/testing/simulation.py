"""An emulated board that runs as far as a test waits, and no further: all its time is simulated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeVar

from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.liveness import Liveness
from portbench.boards.emulated.simulation import PS_PER_S, PS_PER_US, Simulation, Step
from portbench.console import shown
from portbench.errors import BoardError
from portbench.testing.errors import NothingCame
from portbench.testing.frames import Frame
from portbench.testing.transcript import Transcript

__tracebackhide__ = True
T = TypeVar("T")
PinRecords = Callable[[float, list[dict[str, Any]]], None]

DEFAULT_S: Final = 10.0
"""Longest simulated time of a wait."""
MOST_FRAMES: Final = 100_000
MOST_RECORDS: Final = 1_000_000
"""Changes of pins in one step."""
_MOST_EVENTS = 1000
_SLICE_PS: Final = 1000 * PS_PER_US


class Saved(NamedTuple):
    """The state of a board, and the records of its past."""

    machine: bytes
    before_ps: int
    plugged: bool
    power_ups: int
    events: tuple[str, ...]
    frames: tuple[Frame, ...]
    transcript: Transcript
    console: Console
    liveness: Liveness


class RecordedSimulation(Simulation):
    """A board with blank flash; what passes at its console, its cable and its USB is kept for the test.

    `now_us` and all times that are kept are microseconds since it was made, over all power cycles.
    """

    def __init__(self, definition: BoardDefinition, config: EmulatedConfig) -> None:
        self.events: deque[str] = deque(maxlen=_MOST_EVENTS)
        """Events beside the console, a line each: USB, resets, faults of the cores."""
        self._settings = config.settings(definition)
        super().__init__(b"", self._settings, log=self.events.append)
        self.slice_ps = _SLICE_PS
        self._has_cable = definition.network is not None
        self._before_ps = 0
        self._powered = self._plugged = True
        self._frames: deque[Frame] = deque(maxlen=MOST_FRAMES)
        self.transcript = Transcript()
        self.power_ups = 0
        self.on_power_up: list[Callable[[], None]] = []
        self.on_step: list[Callable[[], None]] = []
        self._of_pins: PinRecords | None = None
        self._first: RecordedSimulation | None = None
        self._second: RecordedSimulation | None = None
        """The other board of a pair; the PC is the first's."""
        self._started()

    @property
    def now_us(self) -> float:
        return self.now_ps / PS_PER_US

    @property
    def now_ps(self) -> int:
        return self._before_ps + self.time_ps

    @property
    def frames(self) -> list[Frame]:
        return sorted(self._frames, key=lambda frame: frame.time_us)

    @property
    def usb(self) -> dict[str, Any]:
        return self.machine.usb()

    def attach(self, device: dict[str, Any]) -> None:
        """Attach a device, for now and for all later power cycles. Raises KeyError and ValueError."""
        self.machine.attach(device)
        self._settings = {**self._settings, "attached": [*self._settings["attached"], device]}

    def join(self, first: RecordedSimulation) -> None:
        """Switch the board on again on the switch of `first`; both go on in lock-step. Raises BoardError."""
        if first is self or not (self._has_cable and first._has_cable):
            raise BoardError("only two boards with an Ethernet cable each can share a switch")
        self._refuse_when_joined()
        first._refuse_when_joined()
        self.restart()
        self.share_switch(first)
        self._first, first._second = first, self

    def plug_cable(self, plugged: bool) -> None:
        """Plug it in or pull it; it stays so over power cycles. Raises ValueError on a board without a network."""
        self.machine.set_cable(plugged)
        self._plugged = plugged

    def power_off(self) -> None:
        self._refuse_when_joined()
        self._powered = False

    def restart(self, flash: bytes | None = None) -> None:
        """Switch the board on again. `flash`: with other contents than it has."""
        self._refuse_when_joined()
        self._before_ps = self.now_ps
        self.power_up(flash=flash, settings=self._settings)
        self._powered = True
        self._started()

    @property
    def is_new(self) -> bool:
        """Whether nothing has happened yet: no time has passed, nothing is attached and nothing is recorded."""
        watched = self.on_power_up or self.on_step or self._of_pins or self._settings["attached"]
        return self.now_ps == 0 and self.power_ups == 1 and self._powered and self._plugged and not watched

    def key(self, contents: bytes) -> tuple[str, str]:
        """Two new boards with equal keys do the same with `contents` in their flash."""
        return sha256(contents).hexdigest(), repr(self._settings)

    def save(self) -> Saved | None:
        """Return the state; None where it cannot be saved."""
        if self.liveness.first_fault is not None or self._first is not None or self._second is not None:
            return None
        try:
            machine = self.machine.snapshot()
        except ValueError:
            return None
        kept = (self._before_ps, self._plugged, self.power_ups, tuple(self.events), tuple(self._frames))
        return Saved(machine, *kept, *deepcopy((self.transcript, self.console, self.liveness)))

    def restore(self, saved: Saved) -> None:
        """Go on from the state of another board, with the same settings, in place of this new one's."""
        self.machine.restore(saved.machine)
        self._before_ps, self._plugged, self.power_ups = saved.before_ps, saved.plugged, saved.power_ups
        self.events.extend(saved.events)
        self._frames.extend(saved.frames)
        self.transcript, self.console, self.liveness = deepcopy(saved[-3:])
        if self._has_cable:
            self.machine.log_frames(MOST_FRAMES)

    def record_pins(self, take: PinRecords) -> None:
        """Call `take` after each step with the time of the last power-up, and the levels of all pins where one changed.

        Until the next power-up.
        """
        self.machine.trace_start(["pins"], MOST_RECORDS)
        self._of_pins = take

    def run(self, seconds: float) -> None:
        """Run for `seconds` of simulated time."""
        until_ps = self.now_ps + round(seconds * PS_PER_S)
        while self.now_ps < until_ps:
            self._pass(until_ps)

    def wait(self, look: Callable[[], T | None], within_s: float, what: str, came: Callable[[], str]) -> T:
        """Run until `look` returns something true, and return that.

        Raises NothingCame, with what `came` instead, after `within_s` or as soon as it can never come.
        """
        until_ps = self.now_ps + round(within_s * PS_PER_S)
        while not (found := look()):
            if (stuck := self.fault or self.liveness.stuck(self.time_us)) is not None:
                raise NothingCame(f"{what} did not come, and cannot: {stuck}\n{came()}")
            if self.now_ps >= until_ps:
                raise NothingCame(f"{what} did not come within {within_s:g} s of simulated time\n{came()}")
            self._pass(until_ps)
        return found

    def came_on_console(self) -> str:
        return f"the console's last lines, {self.now_us / 1e6:.6f} s after the start:\n{self.transcript.tail()}"

    def ran(self, stop: str) -> Step:
        step = super().ran(stop)
        for at_us, what, detail in step.usb:
            at_s = (self._before_ps / PS_PER_US + at_us) / 1e6
            self.events.append(shown(f"{at_s:.6f} s usb {what} {detail}".rstrip()))
        self.transcript.feed(step.printed)
        before_us = self._before_ps / PS_PER_US
        if self._of_pins is not None:
            records, lost = self.machine.trace_take()
            if lost:
                self.events.append(f"{self.now_us / 1e6:.6f} s {lost} edges of pins were not recorded")
            self._of_pins(before_us, records)
        for look in self.on_step:
            look()
        if self._has_cable:
            for start_us, arrival_us, to_board, fate, data in self.machine.lan_frames():
                lost = fate != "Delivered" or not self._plugged
                at_us = self._before_ps / PS_PER_US + (start_us if lost else arrival_us)
                self._frames.append(Frame(at_us, to_board, lost, data))
        return step

    def _started(self) -> None:
        self.power_ups += 1
        if self._has_cable:
            self.machine.log_frames(MOST_FRAMES)
            self.machine.set_cable(self._plugged)
        for tell in self.on_power_up:
            tell()

    def _refuse_when_joined(self) -> None:
        if self._first is not None or self._second is not None:
            raise BoardError("two boards on one switch keep their power: flash and switch them on before join()")

    def _pass(self, until_ps: int) -> None:
        if not self._powered:
            raise NothingCame("the board is off: power_up() first")
        until_ps = min(until_ps - self._before_ps, self.time_ps + self.slice_ps)
        if self._second is not None:
            self._second.step(until_ps - self._second._since_ps)
            self.fault, self.cause = self._second.fault, self._second.cause
            self.ran("time")
        else:
            self.step(until_ps)
            if self._first is not None:
                self._first.ran("time")
        if self.cause is not None:
            raise NothingCame(f"{self.fault}\n{self.came_on_console()}") from self.cause
