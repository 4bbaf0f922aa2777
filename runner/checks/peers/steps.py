"""The steps that a file of programs names: each acts on a program's board, or waits for an expected result.

The key of a step is the first field of its class, in small letters: `{ says = "Hello" }` is a `Says`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from ipaddress import IPv4Address
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from portbench.boards.pins import HIGH_V, parse_pin, pin_number
from portbench.runner.checks.peers.program_board import Line, ProgramBoard
from portbench.testing.errors import NothingCame

_HALF_PS_US: Final = 5e-7
"""The engine counts picoseconds."""
_MOST_RECORDS: Final = 1_000_000
_PING_DATA: Final = b"portbench"
_PING_AGAIN_US: Final = 500_000.0
_SHIFT_S: Final = 17e-9
"""A signal that repeats evenly must not be sampled in one phase only."""

_Port = Annotated[int, Field(ge=1, le=65535)]


class Step(BaseModel, ABC):
    """`within_s`: simulated seconds that it may take, if not as many as the file of programs says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    within_s: Annotated[float, Field(gt=0)] | None = None

    @abstractmethod
    def do(self, board: ProgramBoard, within_s: float) -> None:
        """Raises NothingCame, an AssertionError, where the expected thing does not come."""


def step(entry: dict[str, Any]) -> Step:
    """The step of an entry such as `{ says = "Hello" }`. Raises ValueError, pydantic's included."""
    found = [name for name in STEPS if name in entry]
    if len(found) != 1:
        raise ValueError(f"{entry} has to have one of {', '.join(STEPS)}")
    return STEPS[found[0]].model_validate(entry)


class Connects(Step):
    """`{ connects = 7, sends = "hello", gets = "hel+o" }`: the simulated PC connects to a port of the board.

    `to`: the board's address, if not the one that it sends from. `gets`: a regular expression.
    """

    connects: _Port
    to: str | None = None
    sends: str = ""
    gets: str

    def do(self, board: ProgramBoard, within_s: float) -> None:
        connection = board.connect(self.connects, self.to, within_s)
        if self.sends:
            connection.send(self.sends.encode())
        connection.expect(self.gets, within_s)


class Enumerates(Step):
    """`{ enumerates = "MIDI" }`: a regular expression finds its match in the PC's view of a configured USB device.

    The view is `vid:pid manufacturer product`, then the classes without a driver of ours.
    """

    enumerates: str

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.enumerates)

        def shown() -> str:
            usb = board.machine.usb()
            if not usb["configured"]:
                return ""
            serial = " ".join(f"serial{place}" for place in range(usb["serial_ports"]))
            storage = "storage" if usb["storage"] else ""
            device = f"{usb['vid']:04x}:{usb['pid']:04x} {usb['manufacturer']} {usb['product']}"
            return " ".join(filter(None, [device, serial, storage, *map(str, usb["unused"])]))

        board.wait(lambda: pattern.search(shown()) is not None, within_s, f"{self.enumerates!r} on USB", "usb")


class Event(Step):
    """`{ event = "core 0 HardFault" }`: a fault, a reset or a USB event matches a regular expression."""

    event: str

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.event)
        board.wait(lambda: any(map(pattern.search, board.events)), within_s, f"{self.event!r}")


class Frame(Step):
    """`{ frame = "^ffffffffffff" }`: an Ethernet frame in hex digits comes from the board, or goes `to_board`."""

    frame: str
    to_board: bool = False

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.frame)
        seen = 0

        def look() -> bool:
            nonlocal seen
            frames = board.frames
            fresh, seen = frames[seen:], len(frames)
            return any(each.to_board == self.to_board and pattern.search(each.data.hex()) for each in fresh)

        board.wait(look, within_s, f"a frame {'to' if self.to_board else 'from'} the board with {self.frame!r}")


def _parses(text: str) -> str:
    parse_pin(text)
    return text


class Holds(Step):
    """`{ holds = "GP15=low" }`: a pin is driven low, high or to a voltage from outside, or released (`open`)."""

    holds: Annotated[str, AfterValidator(_parses)]

    def do(self, board: ProgramBoard, within_s: float) -> None:
        board.machine.set_voltage(*parse_pin(self.holds))


def _level(text: str) -> str:
    if parse_pin(text)[1] not in (0.0, HIGH_V):
        raise ValueError(f"{text!r}: a level is low or high")
    return text


class IsAt(Step):
    """`{ is_at = "GP25=high" }`: a pin reaches a level."""

    is_at: Annotated[str, AfterValidator(_level)]

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pin, volts = parse_pin(self.is_at)

        def look() -> bool:
            if board.machine.pin(pin) == (volts == HIGH_V):
                return True
            board.run(_SHIFT_S)
            return False

        board.wait(look, within_s, self.is_at)


class Listens(Step):
    """`{ listens = 5000, gets = "1", sends = "2", then_gets = "3" }`: the board connects to a port of the simulated PC.

    Patterns are regular expressions; an empty one is not waited for. `times`: how often `sends` is sent in a row.
    """

    listens: _Port
    gets: str = ""
    sends: str = ""
    times: Annotated[int, Field(ge=1)] = 1
    then_gets: str = ""

    def do(self, board: ProgramBoard, within_s: float) -> None:
        connection = board.listen(self.listens).accept(within_s)
        if self.gets:
            connection.expect(self.gets, within_s)
        if self.sends:
            connection.send(self.sends.encode() * self.times)
        if self.then_gets:
            connection.expect(self.then_gets, within_s)


class Pings(Step):
    """`{ pings = "192.168.50.2" }`: the board answers the simulated PC's ping at that address."""

    pings: IPv4Address

    def do(self, board: ProgramBoard, within_s: float) -> None:
        machine, to = board.machine, str(self.pings)
        asked_us = -_PING_AGAIN_US
        sequence = 0

        def look() -> bool:
            nonlocal asked_us, sequence
            if machine.time_us - asked_us >= _PING_AGAIN_US:
                asked_us, sequence = machine.time_us, sequence + 1
                machine.ping(to, sequence, _PING_DATA)
            return any(peer == to and data == _PING_DATA for peer, _, data, _, _ in machine.ping_replies())

        board.wait(look, within_s, f"an answer of {to} to a ping")


class Runs(Step):
    """`{ runs = 0.5 }`: simulated seconds pass, and the board goes on."""

    runs: Annotated[float, Field(gt=0)]

    def do(self, board: ProgramBoard, within_s: float) -> None:
        until_us = board.time_us + self.runs * 1e6
        board.wait(lambda: board.time_us + _HALF_PS_US >= until_us, self.runs, f"{self.runs:g} s of running")


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression ({error})") from None
    return pattern


class Says(Step):
    """`{ says = "Hello, \\\\w+", on = "usb" }`: a regular expression matches on a line, after the last match there."""

    says: Annotated[str, AfterValidator(_compiles)]
    on: Line = "uart0"

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.says.encode())
        board.wait(lambda: board.lines[self.on].find(pattern), within_s, f"{self.says!r} on {self.on}", self.on)


def _named(name: str) -> str:
    pin_number(name)
    return name


class Toggles(Step):
    """`{ toggles = "GP25", edges = 8, period_us = 500000 }`: a pin's level changes so often, and so fast.

    `period_us`: the average from one rising edge to the next, to 1 part in 100 or to `tolerance_us`.
    """

    toggles: Annotated[str, AfterValidator(_named)]
    edges: Annotated[int, Field(ge=1)] = 4
    period_us: Annotated[float, Field(gt=0)] | None = None
    tolerance_us: Annotated[float, Field(ge=0)] | None = None

    def do(self, board: ProgramBoard, within_s: float) -> None:
        machine, pin = board.machine, pin_number(self.toggles)
        level = machine.pin(pin)
        edges_us: list[float] = []
        rising_us: list[float] = []

        def look() -> bool:
            nonlocal level
            records, _ = machine.trace_take()
            for record in records:
                now = bool(record["level"] >> pin & 1)
                if now != level:
                    level = now
                    edges_us.append(record["t_us"])
                    if now:
                        rising_us.append(record["t_us"])
            return len(edges_us) >= self.edges

        machine.trace_start(["pins"], _MOST_RECORDS)
        try:
            board.wait(look, within_s, f"{self.edges} edges at {self.toggles}")
        finally:
            machine.trace_stop()
        if self.period_us is None:
            return
        if len(rising_us) < 2:
            raise NothingCame(f"{self.toggles}: no period in {len(edges_us)} edges; ask for more")
        period_us = (rising_us[-1] - rising_us[0]) / (len(rising_us) - 1)
        if abs(period_us - self.period_us) > (self.tolerance_us or self.period_us / 100):
            raise NothingCame(f"{self.toggles}: a period of {period_us:g} us came, not {self.period_us:g} us")


class Types(Step):
    """`{ types = "s", on = "usb" }`: characters are typed on a line."""

    types: str
    on: Line = "uart0"

    def do(self, board: ProgramBoard, within_s: float) -> None:
        board.send(self.on, self.types.encode())


STEPS: Final = {next(iter(kind.__annotations__)): kind for kind in Step.__subclasses__()}
"""By the key that names it in a file of programs."""
