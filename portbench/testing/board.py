"""`Board`: an emulated board with the controls of a real one on a desk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from portbench_engine import Machine, flash_of_image
from portbench_engine.board import Drive
from portbench_engine.devices import Device
from pydantic import ValidationError

from portbench.boards.definition import BoardDefinition, board_definition
from portbench.boards.emulated.config import CONFIG
from portbench.boards.emulated.simulation import FLUSH_US
from portbench.boards.flashed import fitting
from portbench.boards.pins import avr_pin_name, pin_number
from portbench.boards.releases import selected
from portbench.errors import BoardError, PortbenchError, first_complaint
from portbench.firmware import catalogue, uf2
from portbench.firmware.images import ImageStore
from portbench.testing.coverage import Coverage, Lines, content_of, lcov
from portbench.testing.errors import NothingCame
from portbench.testing.frames import Frame, write_pcap
from portbench.testing.network import Connection, Listener, UdpPort, called
from portbench.testing.pins import Pin, Pins
from portbench.testing.python import PythonPrompt
from portbench.testing.services import MqttBroker, Page, Pages
from portbench.testing.simulation import DEFAULT_S, RecordedSimulation, Saved
from portbench.testing.uart import SerialPort, Uart

if TYPE_CHECKING:
    from portbench.testing.http import BoardSession

__tracebackhide__ = True
OnBus = TypeVar("OnBus", bound=Device)
Files = Path | Mapping[str, Path | str | bytes]
DEFAULT_KIND: Final = "W5500_EVB_PICO"
BOOT_S: Final = 20.0
_MOST_BOOTED: Final = 8
_BOOTED: dict[tuple[Any, ...] | None, Saved] = {}
"""The states of boards that have booted, by all that a boot depends on, the oldest first."""
_AGAIN_S = 0.1
_WAITS: Final = b"""import supervisor
while not supervisor.runtime.serial_connected: pass
supervisor.set_next_code_file("code.py"); supervisor.reload()
"""
_EXECUTE_S = 30.0


class Board:
    """An emulated board of `kind`, with power and with blank flash. `settings`: fields of `EmulatedConfig`.

    Its time is simulated and goes on only while one of these methods waits, so that a test gives the same times in
    every run. A wait that fails raises NothingCame, which is an AssertionError.
    """

    def __init__(self, kind: str = DEFAULT_KIND, **settings: Any) -> None:
        try:
            config = CONFIG.validate_python(settings)
        except ValidationError as error:
            raise BoardError(f"{kind}: settings: {first_complaint(error)}") from None
        self._definition = board_definition(kind)
        self._simulation = RecordedSimulation(self._definition, config)
        self._prompt = PythonPrompt(self._simulation)
        self._pins = Pins(self._simulation)
        self._coverage = Coverage(self._simulation)
        self._uarts: dict[int, Uart] = {}
        self._serial_ports: dict[int, SerialPort] = {}

    @property
    def time_us(self) -> float:
        """Simulated microseconds since the test got the board, over all power cycles."""
        return self._simulation.now_us

    @property
    def time_ps(self) -> int:
        """Exact time in picoseconds."""
        return self._simulation.now_ps

    @property
    def console(self) -> str:
        """Everything that the board has printed."""
        return self._simulation.transcript.text

    @property
    def events(self) -> list[str]:
        """Events beside the console: USB, resets, faults of the cores."""
        return list(self._simulation.events)

    @property
    def fault(self) -> str | None:
        """Why the board cannot go on, as one line; None while it can."""
        return self._simulation.stuck

    @property
    def in_fault(self) -> bool:
        """True if core 0 is locked up or in the handler of a fault; a watchdog may still reset it."""
        return self._simulation.liveness.in_fault

    @property
    def machine(self) -> Machine:
        """The engine's machine, for what this class has no method for. Another one after each `flash`."""
        return self._simulation.machine

    @property
    def driven_pins(self) -> list[str]:
        """The pins that the chip drives now: `GP25` and so on, or `PB4`."""
        driven = self._simulation.machine.pins()[1]
        name = "GP{}".format if self._definition.avr is None else avr_pin_name
        return [name(number) for number in range(driven.bit_length()) if driven >> number & 1]

    @property
    def frames(self) -> list[Frame]:
        """The frames on the Ethernet cable, in order."""
        return self._simulation.frames

    @property
    def link_up(self) -> bool:
        return self._simulation.machine.link_up

    @property
    def address(self) -> str | None:
        """The IPv4 address that the board sent from last, else the one that it leased; None before it has one."""
        return self._simulation.machine.board_address

    def flash(self, image: Path | str | bytes) -> None:
        """Program a UF2 image, as BOOTSEL and a copy to the drive do, and start it. Flash outside of it stays.

        A `str` without `.uf2` is a runtime of the catalogue, or a release as in `micropython@latest`. It is downloaded
        where it is not at hand.
        """
        self._program(self._programmed(image))

    def boot(
        self,
        image: Path | str | bytes,
        until: str | bytes = ">>> ",
        files: Files | None = None,
        within_s: float = BOOT_S,
    ) -> None:
        """Flash `image`, copy `files`, start the board and wait for `until` on the console, as `expect` does.

        A new board takes the state of one that has booted so before in this process: milliseconds instead of a boot,
        and the same in all that follows. A board whose state cannot be saved boots each time.
        """
        simulation = self._simulation
        contents = self._programmed(image)
        copied = tuple((path, content_of(path, value)) for path, value in _in_folder(files or {}).items())
        key = (*simulation.key(contents), copied, until) if simulation.is_new else None
        if (saved := _BOOTED.get(key)) is not None:
            simulation.restore(saved)
            return
        self._program(contents)
        if copied:
            self.copy(dict(copied))
            self.power_cycle()
        self.expect(until, within_s)
        if key is not None and (saved := simulation.save()) is not None:
            _BOOTED[key] = saved
            while len(_BOOTED) > _MOST_BOOTED:
                del _BOOTED[next(iter(_BOOTED))]

    def copy(self, files: Files, *, cover: bool = False, wait_for_console: bool = False) -> None:
        """Bring files to the board's file system: to its drive where it has one, else through its Python prompt.

        `files`: a folder of this machine, without hidden files and `__pycache__`; or a mapping whose keys are paths on
        the board; a `str` is the content, a `Path` a file of this machine. `cover`: Python files get marks, so that
        `coverage` knows the lines that ran. Marks take time on the board. `wait_for_console`: CircuitPython begins
        `code.py` when the PC has opened the console, by a file `code.txt`, so that the first lines are kept.
        """
        content = self._coverage.mark if cover else content_of
        given = _in_folder(files)
        contents = {path.lstrip("/"): content(path.lstrip("/"), value) for path, value in given.items()}
        self._simulation.wait_for_console()
        if self._simulation.usb["storage"]:
            self._copy_to_drive(contents | ({"code.txt": _WAITS} if wait_for_console else {}))
        else:
            self._prompt.write_files(contents)

    def files(self, unit: int = 0) -> dict[str, int]:
        """Return the files of the board's drive, by path, with their sizes in bytes. Raises BoardError.

        `unit`: the drive's logical unit. The board runs during the call.
        """
        with self._drive(unit) as drive:
            return drive.files()

    def read(self, path: str, unit: int = 0) -> bytes:
        """Return the contents of a file of the board's drive. Raises BoardError."""
        with self._drive(unit) as drive:
            return drive.read(path)

    def execute(self, code: str, within_s: float = _EXECUTE_S) -> str:
        """Interrupt the program that runs, run Python `code` at the prompt, and return what it printed."""
        return self._prompt.execute(code, within_s)

    def type(self, text: str | bytes) -> None:
        """Type at the console; Enter is `\\r`, Ctrl-C `\\x03`."""
        self._prompt.type(text.encode() if isinstance(text, str) else text)

    def expect(self, pattern: str | bytes, within_s: float = DEFAULT_S) -> re.Match[bytes]:
        """Wait for `pattern`, a regular expression, on the console after the last match, and return the match."""
        simulation = self._simulation
        came = simulation.came_on_console
        return simulation.expect(simulation.transcript, pattern, within_s, "on the console", came)

    def expect_frame(self, wanted: Any, within_s: float = DEFAULT_S, what: str = "the frame") -> Frame:
        """Wait for a frame for which the function `wanted` is true, and return the first; earlier frames count, too."""
        looked = 0

        def look() -> Frame | None:
            nonlocal looked
            frames = self.frames
            fresh, looked = frames[looked:], len(frames)
            return next((frame for frame in fresh if wanted(frame)), None)

        return self._simulation.wait(look, within_s, what, self._simulation.came_on_console)

    def run(self, seconds: float) -> None:
        """Run for `seconds` of simulated time."""
        self._simulation.run(seconds)

    def connect(self, port: int, address: str | None = None, within_s: float = DEFAULT_S) -> Connection:
        """Connect from the simulated PC to a port of the board, again and again until it is accepted.

        `address`: the board's; by default the one that it sends from.
        """
        simulation = self._simulation
        until_us = simulation.now_us + within_s * 1e6
        what = f"an address of the board, to connect to its port {port}"
        host = address or simulation.wait(lambda: self.address, within_s, what, simulation.came_on_console)
        while True:
            connection = called(simulation, f"{host}:{port}")
            left_s = (until_us - simulation.now_us) / 1e6
            ended = f"{connection} to be accepted"
            simulation.wait(partial(_answered, connection), left_s, ended, simulation.came_on_console)
            if connection.open:
                return connection
            if simulation.now_us + _AGAIN_S * 1e6 > until_us:
                raise NothingCame(f"{connection}: refused for {within_s:g} s\n{simulation.came_on_console()}")
            simulation.run(_AGAIN_S)

    @property
    def http(self) -> BoardSession:
        """A `requests` session that reaches the board: `http.get("/")` asks its port 80, in simulated time."""
        from portbench.testing.http import BoardSession

        return BoardSession(self.connect)

    def listen(self, port: int) -> Listener:
        """Open a server's port on the simulated PC, which is 192.168.50.1 unless `pc_ip` is set."""
        return Listener(self._simulation, port)

    def udp(self, port: int) -> UdpPort:
        """Open a UDP port of the simulated PC: `expect` takes a datagram of the board, `send` sends one to it."""
        return UdpPort(self._simulation, port)

    def serve_http(self, pages: Mapping[str, Page], port: int = 80) -> Pages:
        """Serve pages by path on the simulated PC: text, bytes, or a function of the request."""
        return Pages(self._simulation, port, pages)

    def serve_mqtt(self, port: int = 1883) -> MqttBroker:
        """Start an MQTT broker on the simulated PC."""
        return MqttBroker(self._simulation, port)

    def serve_dns(self, address: str | None = None) -> None:
        """Give every name this address, or the simulated PC's, from the next `flash` or `boot` on."""
        self._simulation.change(dns_answer=address or self._simulation.settings["pc_ip"])

    def serve_ntp(self, unix_s: int) -> None:
        """Start a time server on the simulated PC from the next `flash` or `boot` on. `unix_s`: time at power-up."""
        self._simulation.change(ntp_start_s=unix_s)

    def pin(self, name: str | int) -> Pin:
        """Return a pin, `GP15` or 15, and record its edges from now on. Raises ValueError."""
        return self._pins.get(name)

    def uart(self, number: int) -> Uart:
        """Return the other end of UART 0 or 1. Raises ValueError."""
        if number not in self._uarts:
            self._uarts[number] = Uart(self._simulation, number)
        return self._uarts[number]

    def serial(self, number: int) -> SerialPort:
        """Return a serial port on USB beside the console: 1 is the first. Raises ValueError."""
        if number not in self._serial_ports:
            self._serial_ports[number] = SerialPort(self._simulation, number)
        return self._serial_ports[number]

    def attach(self, bus: str, device: OnBus, **pins: str | int | None) -> OnBus:
        """Attach a part of `portbench.devices` or a device of yours, which stays over power cycles, and return it.

        `bus`: `i2c0`, `i2c1`, `spi0`, `spi1`, `uart0`, `uart1`, or `pins`. `pins`: `sda_pin` and `scl_pin`; `sck_pin`,
        `mosi_pin`, `miso_pin` and `csn_pin`; `tx_pin` and `rx_pin` of the board; and `rstn_pin`, `intn_pin` where the
        device has them. On `pins`, those that the device names, such as `dq_pin` of its `dq`. Raises KeyError and
        ValueError; a wait during which the device raises fails with NothingCame.
        """
        wires = {name: None if pin is None else pin_number(pin) for name, pin in pins.items()}
        self._simulation.attach({"bus": bus, "device": device, **wires})
        return device

    def save_vcd(self, path: Path) -> None:
        """Save the edges of all pins that `pin` was called for, for PulseView or GTKWave."""
        self._pins.save_vcd(path)

    @property
    def coverage(self) -> Mapping[str, Lines]:
        """The lines of the files that were copied with `cover`, by path on the board: `all`, `covered`, `missing`."""
        return self._coverage.collect()

    def save_coverage(self, path: Path) -> None:
        """Save `coverage` as LCOV, which genhtml, Codecov and editors read."""
        path.write_text(lcov(self.coverage), encoding="utf-8")

    def join(self, other: Board) -> None:
        """Switch the board on again, on the Ethernet switch of `other`; time then passes for both.

        The simulated PC is `other`'s. Flash both before, and give one of them another `flash_id`: firmware makes its
        MAC address of it. Raises BoardError.
        """
        self._coverage.collect()
        self._simulation.join(other._simulation)

    def unplug_cable(self) -> None:
        self._simulation.plug_cable(False)

    def plug_cable(self) -> None:
        self._simulation.plug_cable(True)

    def pull_power(self) -> None:
        """Stop the board where it is; flash keeps its contents."""
        self._coverage.collect()
        self._simulation.power_off()

    def power_up(self) -> None:
        self._simulation.restart()

    def power_cycle(self) -> None:
        self.pull_power()
        self.power_up()

    def save_pcap(self, path: Path) -> None:
        """Save all frames for Wireshark."""
        write_pcap(path, self.frames)

    def keep(self, folder: Path, stem: str) -> list[Path]:
        """Save the console, and the frames if there are any, as files in `folder`."""
        kept = [folder / f"{stem}.console.txt"]
        kept[0].write_text(self.console, encoding="utf-8")
        if self.frames:
            kept.append(folder / f"{stem}.pcap")
            self.save_pcap(kept[-1])
        return kept

    def report(self) -> str:
        """Return the last lines and events, for the report of a failed test."""
        events = "".join(f"\n  {event}" for event in list(self._simulation.events)[-10:]) or "\n  (none)"
        return f"{self._simulation.came_on_console()}\nthe last events:{events}"

    def _programmed(self, image: Path | str | bytes) -> bytes:
        """The contents of flash with `image` in it."""
        if self._definition.avr is not None:
            content = image if isinstance(image, bytes) else Path(image).read_bytes()
            try:
                return flash_of_image(content, self._definition.mcu)
            except ValueError as error:
                raise PortbenchError(f"{'image' if isinstance(image, bytes) else image}: {error}") from None
        if isinstance(image, str) and not image.lower().endswith(".uf2"):
            image = _named_image(image, self._definition)
        name = "image" if isinstance(image, bytes) else str(image)
        data = image if isinstance(image, bytes) else uf2.read_bytes(Path(image))
        return fitting(self._definition, data, name).programmed(self._simulation.machine.flash())

    def _program(self, contents: bytes) -> None:
        self._coverage.collect()
        self._simulation.restart(contents)

    def _copy_to_drive(self, files: Mapping[str, bytes]) -> None:
        simulation = self._simulation
        simulation.wait(lambda: simulation.usb["storage_ready"], DEFAULT_S, "the drive", simulation.came_on_console)
        with self._drive() as drive:
            drive.write(files)
        simulation.run(FLUSH_US / 1e6)

    @contextmanager
    def _drive(self, unit: int = 0) -> Iterator[Drive]:
        try:
            yield Drive(self.machine, unit)
        except OSError as error:
            raise BoardError(f"the board's drive, logical unit {unit}: {error}") from error


def _named_image(runtime: str, board: BoardDefinition) -> Path:
    entries = selected(runtime, board, catalogue.load())
    if len(entries) > 1:
        raise BoardError(f"{runtime}: names several images; flash one of {', '.join(each.id for each in entries)}")
    entry = entries[0]
    path = ImageStore([entry]).obtain(entry).path
    if path is None:
        raise BoardError(f"{runtime}: is not an image of a board; give a runtime of: portbench list runtimes")
    return path


def _in_folder(files: Files) -> Mapping[str, Path | str | bytes]:
    """The files of a folder by their paths in it; a mapping as it is. Raises BoardError."""
    if not isinstance(files, Path):
        return files
    if not files.is_dir():
        raise BoardError(f"{files}: is no folder; name a folder, or give a mapping of the board's paths to files")
    found = ((path.relative_to(files), path) for path in sorted(files.rglob("*")) if path.is_file())
    unseen = (".", "__pycache__")
    return {inner.as_posix(): path for inner, path in found if not any(part.startswith(unseen) for part in inner.parts)}


def _answered(connection: Connection) -> bool:
    return connection.open or connection.closed
