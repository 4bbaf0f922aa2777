"""Board definitions: what a board is, as data read from definitions.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from portbench.boards.errors import BadDefinition, UnknownBoard

DEFINITIONS = Path(__file__).with_name("definitions.toml")


@dataclass(frozen=True)
class UsbId:
    """USB vendor and product id, 16 bits each."""

    vid: int
    pid: int

    def __str__(self) -> str:
        return f"{self.vid:04x}:{self.pid:04x}"


@dataclass(frozen=True)
class SpiBus:
    """The SPI bus between the microcontroller and the Ethernet chip; pins are GPIO numbers."""

    id: int
    sck_pin: int
    mosi_pin: int
    miso_pin: int
    csn_pin: int
    rstn_pin: int
    intn_pin: int
    default_hz: int


@dataclass(frozen=True)
class UsbIds:
    """What the board calls itself on USB, by what runs on it."""

    bootloader: UsbId
    micropython: UsbId
    circuitpython: UsbId


@dataclass(frozen=True)
class Volumes:
    """Labels of the USB volumes, and the Board-ID that the boot loader's INFO_UF2.TXT gives."""

    bootloader: str
    bootloader_board_id: str
    circuitpython: str


@dataclass(frozen=True)
class BoardDefinition:
    """One kind of board. `id` is MicroPython's name; `aliases` are other names that mean the same board."""

    id: str
    title: str
    aliases: tuple[str, ...]
    mcu: str
    ethernet: str
    machine: str
    circuitpython_id: str
    uf2_family: int
    flash_bytes: int
    led_pin: int
    messages: int
    spi: SpiBus
    usb: UsbIds
    volumes: Volumes


def load_definitions(path: Path = DEFINITIONS) -> dict[str, BoardDefinition]:
    """All boards of a definitions file, by id.

    Raises BadDefinition, one line that names file, board, key and value, for anything that cannot be used.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadDefinition(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadDefinition(f"{path}: not TOML: {error}") from error
    return {name: _definition(_Table(path, name, table)) for name, table in tables.items()}


@cache
def builtin_definitions() -> dict[str, BoardDefinition]:
    """The boards that portbench knows, by id."""
    return load_definitions()


def board_definition(name: str) -> BoardDefinition:
    """The board called `name`, by id or alias, whatever its case. Raises UnknownBoard."""
    for definition in builtin_definitions().values():
        if name.lower() in (known.lower() for known in (definition.id, *definition.aliases)):
            return definition
    raise UnknownBoard(f"unknown board {name!r}: there are {', '.join(builtin_definitions())}")


class _Table:
    """One table of the file; every getter checks the type and says where a wrong value is."""

    def __init__(self, path: Path, name: str, values: Any) -> None:
        self.path = path
        self.name = name
        if not isinstance(values, dict):
            raise BadDefinition(f"{path}: [{name}] is {values!r}, not a table")
        self._values = values

    def _get(self, key: str, kind: type, what: str) -> Any:
        if key not in self._values:
            raise BadDefinition(f"{self.path}: [{self.name}] has no {key} ({what})")
        value = self._values[key]
        if type(value) is not kind:
            raise self.bad(key, what)
        return value

    def bad(self, key: str, what: str) -> BadDefinition:
        return BadDefinition(f"{self.path}: [{self.name}] {key} = {self._values[key]!r} is not {what}")

    def text(self, key: str) -> str:
        value: str = self._get(key, str, "a text")
        if not value:
            raise self.bad(key, "a text with anything in it")
        return value

    def number(self, key: str, low: int, high: int) -> int:
        what = f"a whole number from {low} to {high}"
        value: int = self._get(key, int, what)
        if not low <= value <= high:
            raise self.bad(key, what)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values: list[Any] = self._get(key, list, "a list of texts")
        if not all(isinstance(value, str) for value in values):
            raise self.bad(key, "a list of texts")
        return tuple(values)

    def usb_id(self, key: str) -> UsbId:
        match = re.fullmatch(r"([0-9a-f]{4}):([0-9a-f]{4})", self.text(key))
        if match is None:
            raise self.bad(key, 'a USB id such as "2e8a:0005"')
        return UsbId(int(match[1], 16), int(match[2], 16))

    def table(self, key: str) -> _Table:
        return _Table(self.path, f"{self.name}.{key}", self._get(key, dict, "a table"))


def _definition(table: _Table) -> BoardDefinition:
    spi, usb, volumes = table.table("spi"), table.table("usb"), table.table("volumes")
    return BoardDefinition(
        id=table.name,
        title=table.text("title"),
        aliases=table.texts("aliases"),
        mcu=table.text("mcu"),
        ethernet=table.text("ethernet"),
        machine=table.text("machine"),
        circuitpython_id=table.text("circuitpython_id"),
        uf2_family=table.number("uf2_family", 0, 0xFFFFFFFF),
        flash_bytes=table.number("flash_bytes", 1, 1 << 24),
        led_pin=_pin(table, "led_pin"),
        messages=table.number("messages", 1, 1_000_000),
        spi=SpiBus(
            id=spi.number("id", 0, 1),
            sck_pin=_pin(spi, "sck_pin"),
            mosi_pin=_pin(spi, "mosi_pin"),
            miso_pin=_pin(spi, "miso_pin"),
            csn_pin=_pin(spi, "csn_pin"),
            rstn_pin=_pin(spi, "rstn_pin"),
            intn_pin=_pin(spi, "intn_pin"),
            default_hz=spi.number("default_hz", 1, 133_000_000),
        ),
        usb=UsbIds(usb.usb_id("bootloader"), usb.usb_id("micropython"), usb.usb_id("circuitpython")),
        volumes=Volumes(volumes.text("bootloader"), volumes.text("bootloader_board_id"), volumes.text("circuitpython")),
    )


def _pin(table: _Table, key: str) -> int:
    return table.number(key, 0, 29)  # GPIO0 to GPIO29 of the RP2040
