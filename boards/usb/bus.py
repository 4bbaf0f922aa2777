"""The USB devices that are plugged in, one record each, on real or emulated buses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from portbench.boards.definition import BoardDefinition, UsbId
from portbench.console import shown

BOOTROM_SERIALS = frozenset({"E0C9125B0D9B", "000000000000", "00000000A4A1"})
"""What the boot loader of every RP2040 (bootrom B0 to B2) gives as its serial number, and of every emulated one: tells
no board apart."""


@dataclass(frozen=True)
class UsbDevice:
    """One USB device as this PC sees it now; None where it has no such thing or the system does not tell.

    `port`: the serial port's path or name. `volume`: where its drive is mounted; `block_device`: the drive's node
    (Linux), mounted or not. `location`: bus and ports from the root hub, the same for all programs on the board.
    `enumeration`: differs after each re-enumeration. `provider_pid`: the process that shows an emulated board's port.
    """

    serial_number: str | None = None
    vid: int | None = None
    pid: int | None = None
    manufacturer: str | None = None
    product: str | None = None
    port: str | None = None
    volume: Path | None = None
    volume_label: str | None = None
    block_device: str | None = None
    location: str | None = None
    enumeration: str | None = None
    emulated: bool = False
    provider_pid: int | None = None

    @property
    def usb_id(self) -> UsbId | None:
        return None if self.vid is None or self.pid is None else UsbId(self.vid, self.pid)

    @property
    def own_serial(self) -> str | None:
        """The serial number in capitals, None where it is the boot loader's, which all boards share."""
        serial = (self.serial_number or "").upper()
        return serial if serial and serial not in BOOTROM_SERIALS else None

    @property
    def place(self) -> str | None:
        """The location for people: of an emulated board, the name of its folder."""
        return self.location.rpartition("/")[2] if self.location and self.emulated else self.location

    def describe(self) -> str:
        """For messages: ids, serial number and place."""
        words = [str(self.usb_id or "USB device")]
        if self.own_serial:
            words.append(f"serial {self.own_serial}")
        if self.port or self.place:
            words.append(f"at {self.port or self.place}")
        if self.emulated:
            words.append(f"(emulated, named usb:{self.place})")
        return shown(" ".join(words))


class UsbBus(Protocol):
    """Somewhere boards can be plugged in."""

    def devices(self) -> list[UsbDevice]:
        """Return the devices that are plugged in now. Never raises: an unreadable device is left out."""
        ...


class Buses:
    """Several buses as one."""

    def __init__(self, *buses: UsbBus) -> None:
        self._buses = buses

    def devices(self) -> list[UsbDevice]:
        return [device for bus in self._buses for device in bus.devices()]


def is_bootloader(device: UsbDevice, definition: BoardDefinition) -> bool:
    """Whether the chip's boot loader answers."""
    return device.usb_id == definition.usb.bootloader


def is_known(device: UsbDevice, definition: BoardDefinition) -> bool:
    """Whether the device's ids are ones that this kind of board uses. All RP2 boards share MicroPython's."""
    ids = definition.usb
    return device.usb_id in (ids.bootloader, ids.micropython, ids.circuitpython)


def same_board(known: UsbDevice, seen: UsbDevice) -> bool:
    """Whether `seen` is the board that was `known` before it re-enumerated: same place, else same serial number."""
    if known.location and seen.location:
        return known.location == seen.location and known.emulated == seen.emulated
    if known.own_serial and seen.own_serial:
        return known.own_serial == seen.own_serial
    # Some systems do not tell where a device is, and the boot loader has no serial number.
    return known.own_serial is None or seen.own_serial is None
