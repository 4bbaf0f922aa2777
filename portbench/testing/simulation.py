"""An emulated board that runs as far as a test waits, and no further: all its time is simulated."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

from portbench._engine import EngineError, Machine
from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.bootrom import bootrom
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.cpu_faults import CpuFaultLog
from portbench.boards.emulated.liveness import Liveness
from portbench.testing.errors import NothingCame
from portbench.testing.frames import Frame
from portbench.testing.transcript import Transcript

T = TypeVar("T")

MOST_FRAMES: Final = 100_000
_MOST_EVENTS = 1000
_SLICE_US = 1000.0
_PS_US = 1e-6
"""The engine counts picoseconds and cuts off what is less."""


class Simulation:
    """Times are microseconds since it was made, over all power cycles."""

    def __init__(self, definition: BoardDefinition, config: EmulatedConfig) -> None:
        self._definition = definition
        self._settings = config.settings(definition)
        self._has_cable = definition.network is not None
        self._before_us = 0.0
        self._powered = self._plugged = True
        self._frames: deque[Frame] = deque(maxlen=MOST_FRAMES)
        self._dead: str | None = None
        self._liveness = Liveness()
        self._faults = CpuFaultLog(self._note)
        self.console = Transcript()
        self.events: deque[str] = deque(maxlen=_MOST_EVENTS)
        """What happened beside the console, a line each: USB, resets, faults of the cores."""
        self.power_ups = 0
        self.on_power_up: list[Callable[[], None]] = []
        self.machine = Machine(bootrom(), b"", self._settings)
        self._start()

    @property
    def now_us(self) -> float:
        return self._before_us + self.machine.time_us

    @property
    def frames(self) -> list[Frame]:
        return sorted(self._frames, key=lambda frame: frame.time_us)

    @property
    def usb(self) -> dict[str, Any]:
        return self.machine.usb()

    def plug_cable(self, plugged: bool) -> None:
        """It stays so over power cycles. Raises ValueError on a board without a network."""
        self.machine.set_cable(plugged)
        self._plugged = plugged

    def power_off(self) -> None:
        self._powered = False

    def power_up(self, flash: bytes | None = None) -> None:
        """From the start. `flash`: with other contents than it has."""
        self._before_us = self.now_us
        if flash is None:
            self.machine.power_cycle(False)
        else:
            self.machine = Machine(bootrom(), flash, self._settings)
        self._powered = True
        self._start()

    def run(self, seconds: float) -> None:
        """Let so much simulated time pass."""
        until_us = self.now_us + seconds * 1e6
        while not self._is_past(until_us):
            self._step(until_us)

    def _is_past(self, until_us: float) -> bool:
        """Sums of microseconds may lie a picosecond, the engine's step, before what they are to reach, and by as much
        as they are rounded, which is more than that after hours."""
        return self.now_us + max(_PS_US, 4 * math.ulp(until_us)) >= until_us

    def wait(self, look: Callable[[], T | None], within_s: float, what: str, came: Callable[[], str]) -> T:
        """Run until `look` gives something. Raises NothingCame, with what `came` instead, after `within_s` or as soon
        as it can never come."""
        until_us = self.now_us + within_s * 1e6
        while not (found := look()):
            if (stuck := self._dead or self._liveness.stuck(self.machine.time_us)) is not None:
                raise NothingCame(f"{what} did not come, and cannot: {stuck}\n{came()}")
            if self._is_past(until_us):
                raise NothingCame(f"{what} did not come within {within_s:g} s of simulated time\n{came()}")
            self._step(until_us)
        return found

    def came_on_console(self) -> str:
        return f"the console's last lines, {self.now_us / 1e6:.6f} s after the start:\n{self.console.tail()}"

    def _start(self) -> None:
        self.power_ups += 1
        self._dead = None
        self._liveness.powered_up()
        self._faults.powered_up()
        if self._has_cable:
            self.machine.log_frames(MOST_FRAMES)
            self.machine.set_cable(self._plugged)
        for tell in self.on_power_up:
            tell()

    def _step(self, until_us: float) -> None:
        if not self._powered:
            raise NothingCame("the board is off: power_up() first")
        try:
            stop = self.machine.run(min(self.machine.time_us + _SLICE_US, until_us - self._before_us) + _PS_US / 2)
        except EngineError as error:
            self._dead = str(error)
            self._note(self._dead)
            stop = ""
        if (locked_up := self._faults.look(self.machine)) is not None:
            self._liveness.locked_up(self.machine.time_us, locked_up)
        if stop.startswith("reset"):
            self._note(stop)
            self._liveness.was_reset(self.machine.time_us, stop.removeprefix("reset: "))
        for at_us, what, detail in self.machine.usb_events():
            self._note(f"{(self._before_us + at_us) / 1e6:.6f} s usb {what} {detail}".rstrip())
        if data := self.machine.console_read():
            self.console.feed(data)
            self._liveness.printed()
        if self._has_cable:
            for start_us, arrival_us, to_board, fate, data in self.machine.lan_frames():
                lost = fate != "Delivered" or not self._plugged
                at_us = self._before_us + (start_us if lost else arrival_us)
                self._frames.append(Frame(at_us, to_board, lost, data))

    def _note(self, line: str) -> None:
        self.events.append(line)
