"""An emulated board that runs as far as a test waits, and no further: all its time is simulated."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from typing import Any, Final, TypeVar

from portbench_engine.board import Network

from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import PS_PER_S, PS_PER_US, Simulation, Step
from portbench.console import shown
from portbench.errors import BoardError
from portbench.testing.errors import NothingCame
from portbench.testing.frames import Frame
from portbench.testing.transcript import Transcript

__tracebackhide__ = True
T = TypeVar("T")

DEFAULT_S: Final = 10.0
"""Longest simulated time of a wait."""
MOST_FRAMES: Final = 100_000
_MOST_EVENTS = 1000
_SLICE_PS: Final = 1000 * PS_PER_US


Saved = tuple[bytes, dict[str, Any]]
"""The engine's state of a board, and the records of its past."""
_PAST: Final = ("_before_ps", "_plugged", "power_ups", "events", "_frames", "transcript", "console", "liveness")


class RecordedSimulation(Simulation):
    """A board with blank flash; what passes at its console, its cable and its USB is kept for the test.

    `now_us` and all times that are kept are microseconds since it was made, over all power cycles.
    """

    def __init__(self, definition: BoardDefinition, config: EmulatedConfig) -> None:
        self.events: deque[str] = deque(maxlen=_MOST_EVENTS)
        """Events beside the console, a line each: USB, resets, faults of the cores."""
        self.settings = config.settings(definition)
        super().__init__(b"", self.settings, log=self.events.append)
        self.slice_ps = _SLICE_PS
        self._has_cable = definition.network is not None
        self._before_ps = 0
        self._powered = self._plugged = True
        self._frames: deque[Frame] = deque(maxlen=MOST_FRAMES)
        self.transcript = Transcript()
        self.power_ups = 0
        self.on_power_up: list[Callable[[], None]] = []
        self.on_step: list[Callable[[], None]] = []
        self._first: RecordedSimulation | None = None
        self._second: RecordedSimulation | None = None
        """The other board of a pair; the PC is the first's."""
        self._started()

    def change(self, **settings: Any) -> None:
        """Change the engine's settings, for the next flash."""
        self.settings = {**self.settings, **settings}
        if self.is_new:
            self.power_up(flash=b"", settings=self.settings)

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
        self.settings = {**self.settings, "attached": [*self.settings["attached"], device]}

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
        self.power_up(flash=flash, settings=self.settings)
        self._powered = True
        self._started()

    @property
    def is_new(self) -> bool:
        """True if nothing has happened yet: no time has passed, nothing is attached and nothing is recorded."""
        watched = self.on_power_up or self.on_step or self.settings["attached"]
        return self.now_ps == 0 and self.power_ups == 1 and self._powered and self._plugged and not watched

    def key(self, contents: bytes) -> tuple[str, str]:
        """Two new boards with equal keys do the same with `contents` in their flash."""
        return sha256(contents).hexdigest(), repr(self.settings)

    def save(self) -> Saved | None:
        """Return the state; None where it cannot be saved."""
        if self.liveness.first_fault is not None or self._first is not None or self._second is not None:
            return None
        try:
            machine = self.machine.snapshot()
        except ValueError:
            return None
        return machine, deepcopy({name: vars(self)[name] for name in _PAST})

    def restore(self, saved: Saved) -> None:
        """Go on from the state of another board, with the same settings, in place of this new one's."""
        machine, past = deepcopy(saved)
        self.machine.restore(machine)
        self.events.extend(past.pop("events"))
        vars(self).update(past)
        if self._has_cable:
            self.machine.log_frames(MOST_FRAMES)

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
            if (stuck := self.stuck) is not None:
                raise NothingCame(f"{what} did not come, and cannot: {stuck}\n{came()}")
            if self.now_ps >= until_ps:
                raise NothingCame(f"{what} did not come within {within_s:g} s of simulated time\n{came()}")
            self._pass(until_ps)
        return found

    def expect(
        self, transcript: Transcript, pattern: str | bytes, within_s: float, on: str, came: Callable[[], str]
    ) -> re.Match[bytes]:
        """Wait for `pattern` in `transcript`, after the last match. Raises NothingCame."""
        compiled = re.compile(pattern.encode() if isinstance(pattern, str) else pattern)
        what = f"{compiled.pattern.decode(errors='replace')!r} {on}"
        return self.wait(lambda: transcript.find(compiled), within_s, what, came)

    def wait_for_console(self) -> None:
        self.wait(lambda: self.usb["console_open"], DEFAULT_S, "a console", self.came_on_console)

    def came_on_console(self) -> str:
        return f"the console's last lines, {self.now_us / 1e6:.6f} s after the start:\n{self.transcript.tail()}"

    def ran(self, stop: str) -> Step:
        step = super().ran(stop)
        for at_us, what, detail in step.usb:
            at_s = (self._before_ps / PS_PER_US + at_us) / 1e6
            self.events.append(shown(f"{at_s:.6f} s usb {what} {detail}".rstrip()))
        self.transcript.feed(step.printed)
        for look in self.on_step:
            look()
        if self._has_cable:
            before_ps = self._before_ps
            for start_ps, arrival_ps, to_board, fate, data in Network(self.machine).frames():
                fate = fate if self._plugged else "Unplugged"
                self._frames.append(Frame(before_ps + start_ps, before_ps + arrival_ps, to_board, fate, data))
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
