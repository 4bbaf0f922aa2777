"""Boards as data: one file per board, ours in `definitions/`, and files of the user's.

docs/adding-a-board.md explains the keys.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.dataclasses import dataclass as checked_dataclass

from portbench.boards.pins import HeldPins, avr_pin_number
from portbench.errors import BoardUnavailable, PortbenchError, UnknownName, first_complaint, unknown
from portbench.firmware import without_spaces
from portbench.firmware.native_config import NativeConfig
from portbench.firmware.uf2 import Uf2Error
from portbench.firmware.uf2_families import taken_with
from portbench.toml_files import parse_toml, read_text, users_files

DEFINITIONS: Final = Path(__file__).with_name("definitions")
BOARDS_VARIABLE: Final = "PORTBENCH_BOARDS"
"""Files and folders of a user's own boards, separated as in PATH."""
_USUAL: Final = "boards"

_STRICT = ConfigDict(extra="forbid", defer_build=True)
_Text = Annotated[StrictStr, Field(min_length=1)]
_Id = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_\-]*$")]


def _number_of_pin(value: Any) -> Any:
    """Return the engine's number of an AVR's pin such as `PB4`, and GPIO numbers as they are."""
    number = avr_pin_number(value) if isinstance(value, str) else None
    return value if number is None else number


_Pin = Annotated[StrictInt, Field(ge=0, le=29), BeforeValidator(_number_of_pin)]
"""GPIO0 to GPIO29 of RP2040 and RP2350A, PA0 to PC7 of an ATmega."""


@dataclass(frozen=True)
class UsbId:
    """USB vendor and product id, 16 bits each."""

    vid: int
    pid: int

    def __str__(self) -> str:
        return f"{self.vid:04x}:{self.pid:04x}"


def _usb_id(value: Any) -> UsbId:
    if isinstance(value, UsbId):
        return value
    match = re.fullmatch(r"([0-9a-f]{4}):([0-9a-f]{4})", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is not a USB id; write one such as "2e8a:0005"')
    return UsbId(int(match[1], 16), int(match[2], 16))


_UsbId = Annotated[UsbId, PlainValidator(_usb_id)]


def _beside_board(device: str, info: ValidationInfo) -> str:
    return str(Path(info.context or ".") / device)


class _Wired:
    """A device with wires to the microcontroller."""

    def __post_init__(self) -> None:
        used: dict[int, str] = {}
        for name, pin in self.pins.items():
            if pin in used:
                raise ValueError(f"{used[pin]} and {name} are both {pin}; give each wire its own pin")
            used[pin] = name

    @property
    def pins(self) -> dict[str, int]:
        """Numbers of the pins by name, `sck_pin` and so on, without those that are not wired."""
        return {name: pin for name, pin in vars(self).items() if name.endswith("_pin") and pin is not None}


@checked_dataclass(frozen=True, config=_STRICT)
class _OnSpi(_Wired):
    """A device on an SPI bus of the microcontroller, or on pins of PIO; pins are GPIO numbers."""

    bus: Literal["spi0", "spi1", "pio"]
    sck_pin: _Pin
    mosi_pin: _Pin
    miso_pin: _Pin
    csn_pin: _Pin

    @property
    def spi_id(self) -> int | None:
        """The bus by its number, as `machine.SPI` takes it; None: PIO is the bus."""
        return None if self.bus == "pio" else int(self.bus.removeprefix("spi"))


@checked_dataclass(frozen=True, config=_STRICT)
class CardSocket(_OnSpi):
    """The socket of an SD card in SPI mode, with or without a card."""


@checked_dataclass(frozen=True, config=_STRICT)
class Psram(_Wired):
    """RAM at the second chip select of the flash's bus."""

    chip: Literal["APS6404L"]
    csn_pin: _Pin


@checked_dataclass(frozen=True, config=_STRICT)
class Ethernet(_OnSpi):
    """An Ethernet chip on an SPI bus of the microcontroller."""

    kind: Literal["ethernet"]
    chip: _Text
    default_hz: Annotated[StrictInt, Field(ge=1, le=133_000_000)]
    """SPI clock that the runtime chooses by default."""
    io2_pin: _Pin | None = None
    io3_pin: _Pin | None = None
    """With MOSI and MISO as IO0 and IO1, those of a chip with four data lines."""
    rstn_pin: _Pin | None = None
    intn_pin: _Pin | None = None


@checked_dataclass(frozen=True, config=_STRICT)
class Wifi(_Wired):
    """A radio chip on a separate bus; pins are GPIO numbers."""

    kind: Literal["wifi"]
    chip: _Text
    bus: Literal["gspi"]
    on_pin: _Pin
    data_pin: _Pin
    """Both ways, and the chip's interrupt."""
    csn_pin: _Pin
    clock_pin: _Pin


Network = Annotated[Ethernet | Wifi, Field(discriminator="kind")]
"""A board's connection to a network."""


@checked_dataclass(frozen=True, config=_STRICT)
class AttachedDevice:
    """A device of the user's on an emulated board: a class of `portbench_engine.devices` in a file, and its wires."""

    device: Annotated[StrictStr, AfterValidator(_beside_board)]
    """`FILE.py:CLASS`."""
    bus: Literal["i2c0", "i2c1", "spi0", "spi1", "uart0", "uart1"]
    sda_pin: _Pin | None = None
    scl_pin: _Pin | None = None
    sck_pin: _Pin | None = None
    mosi_pin: _Pin | None = None
    miso_pin: _Pin | None = None
    csn_pin: _Pin | None = None
    tx_pin: _Pin | None = None
    rx_pin: _Pin | None = None
    rstn_pin: _Pin | None = None
    intn_pin: _Pin | None = None

    def settings(self) -> dict[str, Any]:
        """Return the engine's settings with a new object of the class. Raises BoardUnavailable."""
        file, _, name = self.device.rpartition(":")
        try:
            spec = spec_from_file_location(Path(file).stem, file)
            assert spec is not None and spec.loader is not None, "not a Python file"
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            made = getattr(module, name)()
        except Exception as error:
            raise BoardUnavailable(f"{self.device}: cannot make the device ({error!r}); name FILE.py:CLASS") from error
        pins = {key: pin for key, pin in vars(self).items() if key.endswith("_pin") and pin is not None}
        return {"bus": self.bus, "device": made, **pins}


@checked_dataclass(frozen=True, config=_STRICT)
class UsbIds:
    """The board's USB ids, by what runs on it."""

    bootloader: _UsbId
    micropython: _UsbId
    circuitpython: _UsbId


@checked_dataclass(frozen=True, config=_STRICT)
class Volumes:
    """Labels of the USB volumes, and the Board-ID that the boot loader's INFO_UF2.TXT gives."""

    bootloader: _Text
    bootloader_board_id: _Text
    circuitpython: _Text


_NO_ID: Final = UsbId(0, 0)
"""No device has this one."""
_Byte = Annotated[StrictInt, Field(ge=0, le=0xFF)]


@checked_dataclass(frozen=True, config=_STRICT)
class Avr:
    """An ATmega, and how avrdude programs it: by a boot loader, through a USB bridge to its USART."""

    crystal_hz: Annotated[StrictInt, Field(ge=1, le=32_000_000)]
    fuses: tuple[_Byte, _Byte, _Byte]
    """The low, high and extended byte."""
    programmer: _Text
    """The boot loader's protocol, as `avrdude -c` names it."""
    baud: Annotated[StrictInt, Field(ge=300, le=2_000_000)]
    bridges: tuple[_UsbId, ...]
    """USB ids of the bridge."""


@checked_dataclass(frozen=True, config=_STRICT)
class BoardDefinition:
    """One kind of board.

    `id` is MicroPython's name, and the name of the file. `aliases` are other names that mean the same board. `machine`
    is part of what MicroPython says of itself, `circuitpython_id` is CircuitPython's name. `network` None: it has none.
    `pins`: volts that the board itself puts to GPIOs, by their numbers, while USB powers it. `sd_card`: where a card's
    socket is, or where clients look for one that is wired by hand; None: nowhere. `psram`: RAM beside the flash.
    `devices`: the user's own on its buses, which only an emulated board has. `header`: its pins are where a Pico's are.
    `avr`: on a board with an ATmega, see `AvrBoard`.
    """

    id: _Id
    title: _Text
    aliases: tuple[_Text, ...]
    mcu: _Text
    flash_bytes: Annotated[StrictInt, Field(ge=1, le=1 << 24)]
    machine: _Text
    circuitpython_id: _Text
    uf2_family: Annotated[StrictInt, Field(ge=0, le=0xFFFF_FFFF)]
    usb: UsbIds
    volumes: Volumes
    network: Network | None = None
    pins: HeldPins = field(default_factory=dict, hash=False)
    sd_card: CardSocket | None = None
    psram: Psram | None = None
    devices: tuple[AttachedDevice, ...] = ()
    header: Literal["pico"] | None = None
    avr: Avr | None = None

    def __post_init__(self) -> None:
        self._check_wires()
        if self.network is None or self.sd_card is None:
            return
        for name, pin in self.sd_card.pins.items():
            shared = self.network.bus == self.sd_card.bus and self.network.pins.get(name) == pin and name != "csn_pin"
            if pin in self.network.pins.values() and not shared:
                raise ValueError(
                    f"sd_card.{name} is {pin}, which the network has; devices share SCK, MOSI and MISO only"
                )

    def _check_wires(self) -> None:
        """The drivers of boards with GPIOs want RSTn and INTn; an ATmega's board may have them elsewhere or nowhere."""
        if self.avr is None and isinstance(self.network, Ethernet):
            for name in ("rstn_pin", "intn_pin"):
                if name not in self.network.pins:
                    raise ValueError(f"network.{name} is absent; add it")

    @property
    def names(self) -> tuple[str, ...]:
        """The board's names, in lower case."""
        return tuple(dict.fromkeys(name.lower() for name in (self.id, *self.aliases)))


@checked_dataclass(frozen=True, config=_STRICT, kw_only=True)
class AvrBoard(BoardDefinition):
    """A board with an ATmega: no USB, no Python, and images in Intel HEX or ELF."""

    machine: Literal[""] = ""
    circuitpython_id: Literal[""] = ""
    uf2_family: Literal[0] = 0
    usb: UsbIds = field(default_factory=lambda: UsbIds(_NO_ID, _NO_ID, _NO_ID), init=False)
    volumes: Volumes = field(default_factory=lambda: Volumes("-", "-", "-"), init=False)
    avr: Avr


_BOARD: Final = TypeAdapter(BoardDefinition)
_AVR_BOARD: Final[TypeAdapter[BoardDefinition]] = TypeAdapter(AvrBoard)
_KINDS: Final = ("ethernet", "wifi")


def load_board(path: Path) -> BoardDefinition:
    """The board of one file. Raises PortbenchError, one line that names file, key, value and fix."""
    document = parse_toml(read_text(path), path)
    if "id" in document:
        raise PortbenchError(f"{path}: id is {document['id']!r}; remove it, the file's name is the board's id")
    board: TypeAdapter[BoardDefinition] = _AVR_BOARD if "avr" in document else _BOARD
    try:
        return board.validate_python({"id": path.stem, **document}, context=path.parent)
    except ValidationError as error:
        raise PortbenchError(f"{path}: {first_complaint(error, _KINDS)}") from error


def known_boards() -> dict[str, BoardDefinition]:
    """All boards by id: ours, then the user's. Raises PortbenchError for the first file that cannot be used."""
    return _load(tuple([*sorted(DEFINITIONS.glob("*.toml")), *users_files(BOARDS_VARIABLE, _USUAL)]))


def board_definition(name: str) -> BoardDefinition:
    """Return the board called `name`, by id or alias, in any case. Raises PortbenchError."""
    for definition in known_boards().values():
        if name.lower() in definition.names:
            return definition
    names = {each: definition.id for definition in known_boards().values() for each in definition.names}
    raise UnknownName(unknown("board", name, names, names))


def board_of_machine(machine: str, wanted: BoardDefinition | None = None) -> BoardDefinition | None:
    """The board that calls itself `machine` (`W5500-EVB-Pico with RP2040`); None where no definition says so. If
    several do, such as a Pico and one with a chip of the user's beside it, `wanted` if it is among them.
    """
    if not (name := without_spaces(machine.partition(" with ")[0])):
        return None
    alike = [each for each in known_boards().values() if without_spaces(each.machine) == name]
    return wanted if wanted in alike else next(iter(alike), None)


def boards_taking(families: Collection[int]) -> list[BoardDefinition]:
    """The boards with a chip that images of one of the UF2 `families` are for."""
    return [board for board in known_boards().values() if {*taken_with(board.uf2_family)} & {*families}]


def refusal(error: Uf2Error) -> str:
    """Why an image is refused, with the boards that it is for where that is known."""
    boards = [board.id for board in boards_taking(error.families)]
    return f"{error} (this one is for {', '.join(boards)})" if boards else str(error)


@lru_cache
def _load(paths: tuple[Path, ...]) -> dict[str, BoardDefinition]:
    boards: dict[str, BoardDefinition] = {}
    owners: dict[str, Path] = {}
    for path in paths:
        board = load_board(path)
        for name in board.names:
            if name in owners:
                raise PortbenchError(f"{path}: the name {name!r} is taken by {owners[name]}; use another")
            owners[name] = path
        boards[board.id] = board
    return boards


def require_wiring(definition: BoardDefinition, built_for: BoardDefinition, what: str) -> None:
    """Raises BoardUnavailable unless the board has the chips and the pins of the one that `what` is built for."""
    if definition.mcu != built_for.mcu or _without_speed(definition.network) != _without_speed(built_for.network):
        raise BoardUnavailable(
            f"{definition.id}: {what} is built for the chips and pins of {built_for.id}, which this board has not;"
            " use a runtime whose client sets its pins"
        )


def _without_speed(network: Network | None) -> Network | None:
    """Leave out the speed, which does not matter here."""
    return replace(network, default_hz=1) if isinstance(network, Ethernet) else network


PC_IP: Final = IPv4Address("192.168.50.1")
"""The simulated PC: DHCP server, gateway, and where a workload's server is."""
SERVER_PORT: Final = NativeConfig().port
TURNAROUND_US: Final = 200
PHY_LINK_DELAY_S: Final = 1.5
MASK: Final = IPv4Address("255.255.255.0")


def board_address(pc: IPv4Address = PC_IP) -> IPv4Address:
    """A free address on the simulated PC's network: below its DHCP server's pool."""
    return IPv4Address((int(pc) & int(MASK)) | 10)
