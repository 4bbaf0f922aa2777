"""A board by its parts: console, pins, UARTs, drive and network of one `Machine`.

Times are picoseconds of simulated time since the last power-up, as integers. The engine's records count microseconds,
which are exact to a picosecond for two hours and a half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from portbench_engine._native import EngineError, Machine, flash_of_image
from portbench_engine.boot_rom import bootrom
from portbench_engine.devices import Device

if TYPE_CHECKING:
    from portbench_engine._native import LanApp, UdpApp

__all__ = ["Board", "Console", "Drive", "Edge", "Frame", "Network", "Pin", "SerialPort", "Uart"]

PS_PER_S: Final = 10**12
_PS_PER_US: Final = 10**6
MOST_EDGES: Final = 1_000_000
_STOPS_OF_THE_PC: Final = ("time", "console", "usb")
"""Stops of the machine that concern only a PC that looks at them at once."""


def _ps(us: float) -> int:
    return round(us * _PS_PER_US)


class Board:
    """An emulated board, which is powered up when it is made.

        board = Board.from_uf2("micropython.uf2")
        board.console.expect(">>> ")
        board.console.write(b"6 * 7\\r")
        print(board.console.expect("42"))

    `flash`: its contents from the start; the rest is blank. `mcu`: one of `MCUS`. `rom`: the boot ROM (default:
    `bootrom(mcu)`). `settings`: further settings of `Machine`, such as `flash_bytes` and `devices`. Errors of the model
    and of the guest are EngineError, those of arguments ValueError.
    """

    machine: Machine
    """All that the engine can do, also what no part below has: traces, profiles, gdb."""

    def __init__(
        self,
        flash: bytes = b"",
        *,
        mcu: str = "RP2040",
        rom: bytes | None = None,
        bootsel: bool = False,
        **settings: Any,
    ) -> None:
        rom = bootrom(mcu) if rom is None else rom
        self.machine = Machine(rom, flash, {"mcu": mcu, **settings}, bootsel)
        self.console = Console(self.machine)
        self.uarts = (Uart(self.machine, 0), Uart(self.machine, 1))
        self.network = Network(self.machine)

    @classmethod
    def from_uf2(cls, file: str | Path, *, mcu: str = "RP2040", **settings: Any) -> Board:
        """Return a board with the UF2 image `file` in its flash. Raises OSError and ValueError."""
        return cls.from_image(Path(file).read_bytes(), mcu=mcu, **settings)

    @classmethod
    def from_image(cls, image: bytes, *, mcu: str, **settings: Any) -> Board:
        """Return a board with `image` in its flash: UF2, or Intel HEX or ELF for an ATmega. Raises ValueError."""
        return cls(flash_of_image(image, mcu), mcu=mcu, **settings)

    @property
    def time_ps(self) -> int:
        """Simulated time since the last power-up."""
        return self.machine.time_ps

    @property
    def flash(self) -> bytes:
        """The contents of the flash chip."""
        return self.machine.flash()

    def run(self, for_ps: int) -> str:
        """Run for `for_ps`. Return `time`, or why the board stopped: `reset: CAUSE`, `locked up` or `asleep: WHY`.

        The instruction in progress is completed. A board that was reset or has locked up can run on.
        """
        return self.run_until(self.time_ps + for_ps)

    def run_until(self, time_ps: int) -> str:
        """Run until simulated time `time_ps`; see `run`."""
        while True:
            stop = self.machine.run_until_ps(time_ps)
            if stop not in _STOPS_OF_THE_PC:
                return stop
            if self.time_ps >= time_ps:
                return "time"

    def power_cycle(self, *, bootsel: bool = False) -> None:
        """Switch off and on, at simulated time 0. Flash, held pins, wires and attached devices stay.

        `bootsel`: with the BOOTSEL button pressed.
        """
        self.machine.power_cycle(bootsel)

    def snapshot(self) -> bytes:
        """Return the board's whole state: chip, flash, network, USB, time. Raises ValueError where it cannot be saved.

        A board with an attached device, an SD card, a radio chip or a program that has talked to the board cannot be.
        """
        return self.machine.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Go on as the board of `snapshot` would, which has the same settings and the same build of the engine.

        Recordings end, and programs must listen on the PC again. Raises ValueError, and then nothing has changed.
        """
        self.machine.restore(snapshot)

    def pin(self, number: int) -> Pin:
        """Return the pin GPIO`number`."""
        return Pin(self.machine, number)

    @contextmanager
    def edges(self) -> Iterator[list[Edge]]:
        """Record the edges of all pins during the block; the list has them when it ends. One trace at a time.

        Bits that SPI and UART shift are not edges of their pins here. More than `MOST_EDGES` raise EngineError.
        """
        found: list[Edge] = []
        self.machine.trace_start(["pins"], MOST_EDGES)
        try:
            yield found
        finally:
            self.machine.trace_stop()
            records, lost = self.machine.trace_take()
        if lost:
            raise EngineError(f"{lost} edges did not fit into the trace; record a shorter time")
        levels: int | None = None
        for record in records:
            before, levels = levels, record["level"]
            changed = 0 if before is None else before ^ levels
            while changed:
                number = changed.bit_length() - 1
                found.append(Edge(_ps(record["t_us"]), number, bool(levels >> number & 1)))
                changed &= ~(1 << number)

    def drive(self, unit: int = 0) -> Drive:
        """Return the USB drive of logical unit `unit`."""
        return Drive(self.machine, unit)

    def serial(self, place: int) -> SerialPort:
        """Return a USB serial port by its place; the console's is 0."""
        return SerialPort(self.machine, place)

    def attach(self, bus: str, device: Device, **pins: int | None) -> None:
        """Attach `device` to `bus` (`i2c0`, `spi1`, `uart0`, ...) by its pins, such as `sda_pin=4`; it stays over power
        cycles."""
        self.machine.attach({"bus": bus, "device": device, **pins})


class Console:
    """The console on the board's first USB serial port."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def received_ps(self) -> int:
        """When the last byte came that the board printed; 0 before the first."""
        return _ps(self._machine.console_time_us)

    def read(self) -> bytes:
        """Return all that the board printed since the last call."""
        return self._machine.console_read()

    def write(self, data: bytes) -> int:
        """Type `data`; return how many bytes were taken."""
        return self._machine.console_write(data)

    def expect(self, text: str, within_ps: int = 10 * PS_PER_S) -> str:
        """Run until the board has printed `text`; return all that it printed. Raises EngineError after `within_ps`."""
        return self._machine.expect(text, within_ps)


class SerialPort:
    """One of the board's USB serial ports."""

    def __init__(self, machine: Machine, place: int) -> None:
        self._machine = machine
        self._place = place

    def read(self) -> bytes:
        """Return the bytes since the last call."""
        return self._machine.serial_read(self._place)

    def write(self, data: bytes) -> int:
        """Send `data`; return how many bytes were taken."""
        return self._machine.serial_write(self._place, data)

    @property
    def unsent(self) -> int:
        """Bytes of `write` that the board has not taken yet."""
        return self._machine.serial_unsent(self._place)


class Uart:
    """The far end of a UART, on whatever pins the program gives it. It sends at the speed of the UART."""

    def __init__(self, machine: Machine, number: int) -> None:
        self._machine = machine
        self._number = number

    @property
    def received_ps(self) -> int:
        """When the last character came; 0 before the first."""
        return _ps(self._machine.uart_time_us(self._number))

    def read(self) -> bytes:
        """Return what the board sent since the last call, 64 KiB at most."""
        return self._machine.uart_read(self._number)

    def write(self, data: bytes) -> int:
        """Send `data`; return how many bytes were taken. A UART that is off loses them."""
        return self._machine.uart_write(self._number, data)

    @property
    def unsent(self) -> int:
        """Bytes of `write` that are not on the line yet."""
        return self._machine.uart_unsent(self._number)


class Edge(NamedTuple):
    """A change of a pin."""

    time_ps: int
    pin: int
    high: bool

    @property
    def time_us(self) -> float:
        return self.time_ps / _PS_PER_US


class Pin:
    """A GPIO pin, as a probe and a finger on a button have it."""

    def __init__(self, machine: Machine, number: int) -> None:
        self._machine = machine
        self.number = number

    @property
    def high(self) -> bool:
        """Its level now."""
        return self._machine.pin(self.number)

    @property
    def driven(self) -> bool:
        """True if the chip drives it."""
        return bool(self._machine.pins()[1] >> self.number & 1)

    def hold(self, volts: float) -> None:
        """Hold the pin at `volts`, 0 to 3.8: weaker than the chip's output, stronger than its pulls."""
        self._machine.set_voltage(self.number, volts)

    def release(self) -> None:
        """End `hold`."""
        self._machine.set_pin(self.number, None)

    def wire(self, other: Pin) -> None:
        """Connect the two pins by a wire."""
        self._machine.wire(self.number, other.number)

    def unwire(self, other: Pin) -> None:
        """Remove the wire between the two pins. Raises ValueError where there is none."""
        if not self._machine.unwire(self.number, other.number):
            raise ValueError(f"no wire joins pin {self.number} and pin {other.number}")


class Drive:
    """A USB drive of the board. The board runs during each call. Raises OSError."""

    def __init__(self, machine: Machine, unit: int) -> None:
        self._machine = machine
        self._unit = unit

    @property
    def label(self) -> str:
        """The name of the volume."""
        return self._machine.volume_label(self._unit)

    def files(self) -> dict[str, int]:
        """Return the paths of all files, with their sizes in bytes."""
        return {path: size for path, folder, size in self._machine.volume_list(self._unit) if not folder}

    def read(self, path: str) -> bytes:
        """Return the contents of a file."""
        return self._machine.volume_read([path], self._unit)[0]

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files by path, in one mount, with the folders above them."""
        self._machine.volume_apply([("write", path, data) for path, data in files.items()], self._unit)

    def remove(self, path: str) -> None:
        """Remove a file or an empty folder."""
        self._machine.volume_apply([("remove", path, b"")], self._unit)


class Frame(NamedTuple):
    """An Ethernet frame on the cable or in the air, without its check sequence."""

    start_ps: int
    arrival_ps: int
    to_board: bool
    fate: str
    """`Delivered`, or how it was lost."""
    data: bytes


class Network:
    """The simulated PC, its LAN, and the board's cable. Raises ValueError on a board without a network."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def address(self) -> str | None:
        """The board's IP address, once the PC knows it."""
        return self._machine.board_address

    @property
    def link_up(self) -> bool:
        """True if the Ethernet chip has a link; False on other boards."""
        return self._machine.link_up

    def set_cable(self, plugged: bool) -> None:
        """Plug in or pull the cable."""
        self._machine.set_cable(plugged)

    def listen(self, port: int, app: LanApp) -> None:
        """Listen on TCP `port` of the PC until the next power cycle."""
        self._machine.listen(port, app)

    def connect(self, address: str, port: int, app: LanApp) -> int:
        """Connect from the PC to the board; return the connection's number."""
        return self._machine.connect(f"{address}:{port}", app)

    def udp_listen(self, port: int, app: UdpApp) -> None:
        """Open UDP `port` of the PC until the next power cycle."""
        self._machine.udp_listen(port, app)

    def log(self, frames: int) -> None:
        """Keep the newest `frames` frames from now until the next power cycle; 0: none."""
        self._machine.log_frames(frames)

    def frames(self) -> list[Frame]:
        """Return the frames that were kept since the last call, in order."""
        return [
            Frame(_ps(start_us), _ps(arrival_us), to_board, fate, data)
            for start_us, arrival_us, to_board, fate, data in self._machine.lan_frames()
        ]
