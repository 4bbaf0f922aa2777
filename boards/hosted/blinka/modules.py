"""The modules that CircuitPython's driver and client import, as far as they use them.

Interfaces: CircuitPython's documentation of `busio.SPI`, `digitalio.DigitalInOut` and `supervisor`, and the parts of
them that adafruit_bus_device 5 and adafruit_wiznet5k 5 to 7 call.
"""

import sys
import time
from enum import Enum
from types import ModuleType
from typing import Protocol, Self

from portbench.boards.hosted.blinka.wires import Clock, Wires

_PINS = 30
"""GPIO 0 to 29 of the RP2040."""
_TICKS_PERIOD = 1 << 29
_FIRST_TICKS = _TICKS_PERIOD - 65536
"""supervisor.ticks_ms() wraps after 2**29 ms, and begins so that it first does so after 65.5 s."""


class WritableBuffer(Protocol):
    """bytearray, memoryview and their like."""

    def __len__(self) -> int: ...
    def __setitem__(self, key: slice, value: bytes, /) -> None: ...


class Pin:
    """One of the board's pins, such as `board.GP17`."""

    def __init__(self, gpio: int) -> None:
        self.gpio = gpio

    def __repr__(self) -> str:
        return f"board.GP{self.gpio}"


class Direction(Enum):
    """digitalio.Direction"""

    INPUT = "input"
    OUTPUT = "output"


class SpiOnWires:
    """busio.SPI on the W5500's pins; other pins have nothing on them and are refused with ValueError."""

    def __init__(self, wires: Wires, clock: Pin, MOSI: Pin | None, MISO: Pin | None) -> None:
        bus = wires.bus
        for name, pin, gpio in (
            ("clock", clock, bus.sck_pin),
            ("MOSI", MOSI, bus.mosi_pin),
            ("MISO", MISO, bus.miso_pin),
        ):
            if pin is None or pin.gpio != gpio:
                raise ValueError(f"busio.SPI: {name}={pin}: the W5500 is on board.GP{gpio}")
        self._wires = wires
        self._locked = False
        self._hz = 100_000

    @property
    def frequency(self) -> int:
        """The SPI clock in Hz."""
        return self._hz

    def try_lock(self) -> bool:
        if self._locked:
            return False
        self._locked = True
        return True

    def unlock(self) -> None:
        self._locked = False

    def configure(self, *, baudrate: int = 100_000, polarity: int = 0, phase: int = 0, bits: int = 8) -> None:
        """Raises ValueError for what the W5500 cannot take: it needs SPI mode 0 or 3 (datasheet 2.1) and bytes."""
        self._check_lock()
        if polarity != phase or bits != 8:
            raise ValueError(
                f"busio.SPI: polarity={polarity} phase={phase} bits={bits}: use SPI mode 0 or 3 with 8 bits"
            )
        if baudrate < 1:
            raise ValueError(f"busio.SPI: baudrate={baudrate}: use 1 Hz or more")
        self._hz = baudrate

    def write(self, buffer: bytes, *, start: int = 0, end: int = sys.maxsize) -> None:
        self._check_lock()
        self._wires.transfer(bytes(buffer[start:end]), self._hz)

    def readinto(self, buffer: WritableBuffer, *, start: int = 0, end: int = sys.maxsize, write_value: int = 0) -> None:
        self._check_lock()
        whole = _slice(len(buffer), start, end)
        mosi = bytes((write_value,)) * (whole.stop - whole.start)
        buffer[whole] = self._wires.transfer(mosi, self._hz)

    def write_readinto(
        self,
        out_buffer: bytes,
        in_buffer: WritableBuffer,
        *,
        out_start: int = 0,
        out_end: int = sys.maxsize,
        in_start: int = 0,
        in_end: int = sys.maxsize,
    ) -> None:
        """Raises ValueError unless both slices are as long."""
        self._check_lock()
        mosi = bytes(out_buffer[out_start:out_end])
        whole = _slice(len(in_buffer), in_start, in_end)
        length = whole.stop - whole.start
        if length != len(mosi):
            raise ValueError(f"busio.SPI: writes {len(mosi)} bytes and reads {length}: use slices of the same length")
        in_buffer[whole] = self._wires.transfer(mosi, self._hz)

    def deinit(self) -> None:
        self._locked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.deinit()

    def _check_lock(self) -> None:
        if not self._locked:
            raise RuntimeError("Function requires lock")  # CircuitPython's text


class PinOnWires:
    """digitalio.DigitalInOut of one pin; an input until switched to output."""

    def __init__(self, wires: Wires, pin: Pin) -> None:
        self._wires = wires
        self._pin = pin
        self._high = False
        self._output = False

    @property
    def direction(self) -> Direction:
        return Direction.OUTPUT if self._output else Direction.INPUT

    @direction.setter
    def direction(self, direction: Direction) -> None:
        if direction is Direction.OUTPUT:
            self.switch_to_output()
        else:
            self.switch_to_input()

    def switch_to_output(self, value: bool = False, drive_mode: object = None) -> None:
        self._output = True
        self.value = value

    def switch_to_input(self, pull: object = None) -> None:
        """The W5500's pull-up raises a pin that is not driven (datasheet 1.1)."""
        self._output = False
        self._wires.drive(self._pin.gpio, True)

    @property
    def value(self) -> bool:
        return self._high if self._output else self._wires.level(self._pin.gpio)

    @value.setter
    def value(self, high: bool) -> None:
        if not self._output:
            raise AttributeError("Cannot set value when direction is input.")  # CircuitPython's text
        self._high = bool(high)
        self._wires.drive(self._pin.gpio, self._high)

    def deinit(self) -> None:
        self.switch_to_input()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.deinit()


def circuitpython_modules(wires: Wires) -> dict[str, ModuleType]:
    """`board`, `busio`, `digitalio` and `supervisor`, for `sys.modules`."""

    class SPI(SpiOnWires):
        """busio.SPI"""

        def __init__(self, clock: Pin, MOSI: Pin | None = None, MISO: Pin | None = None) -> None:
            super().__init__(wires, clock, MOSI, MISO)

    class DigitalInOut(PinOnWires):
        """digitalio.DigitalInOut"""

        def __init__(self, pin: Pin) -> None:
            super().__init__(wires, pin)

    class Runtime:
        """supervisor.runtime: the console is this process's output, which always has a reader."""

        serial_connected = True

    def ticks_ms() -> int:
        return (_FIRST_TICKS + int(wires.now_us() / 1000)) % _TICKS_PERIOD

    return {
        "board": _module("board", **{f"GP{gpio}": Pin(gpio) for gpio in range(_PINS)}),
        "busio": _module("busio", SPI=SPI),
        "digitalio": _module("digitalio", DigitalInOut=DigitalInOut, Direction=Direction),
        "supervisor": _module("supervisor", runtime=Runtime(), ticks_ms=ticks_ms),
    }


def time_module(clock: Clock) -> ModuleType:
    """`time` by the program's clock; the rest of it is the PC's."""
    began_s = time.time()

    def sleep(seconds: float) -> None:
        clock.wait_until_us(clock.now_us() + seconds * 1e6)

    return _module(
        "time",
        **vars(time)
        | {
            "sleep": sleep,
            "monotonic": lambda: clock.now_us() / 1e6,
            "monotonic_ns": lambda: round(clock.now_us() * 1000),
            "time": lambda: began_s + clock.now_us() / 1e6,
        },
    )


def _slice(length: int, start: int, end: int) -> slice:
    """`[start:end]` of a buffer, with indices that count from its beginning."""
    first, stop, _ = slice(start, end).indices(length)
    return slice(first, max(first, stop))


def _module(name: str, **contents: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    return module
