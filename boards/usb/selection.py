"""Which board is meant, in mpremote's words: `auto`, `id:SERIAL`, `port:PATH`, `rfc2217://...`, `socket://...`.

Beside these `usb:PLACE`, where the board is plugged in (`1-1.2`, or an emulated board's name): in its boot loader it
has no serial number, and often no port.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from portbench.boards.definition import BoardDefinition
from portbench.boards.usb.bus import UsbBus, UsbDevice, is_known, same_board
from portbench.errors import BoardUnavailable

AUTO = "auto"


@dataclass(frozen=True)
class Selector:
    """`value`: the serial number in capitals, the port's path, the place, or the whole URL."""

    kind: Literal["auto", "id", "port", "usb", "url"]
    value: str = ""

    def __str__(self) -> str:
        return AUTO if self.kind == "auto" else self.value if self.kind == "url" else f"{self.kind}:{self.value}"


def parse_selector(text: str) -> Selector:
    """Raises BoardUnavailable, one line that names the choices."""
    if text == AUTO:
        return Selector("auto")
    kind, colon, value = text.partition(":")
    if colon and kind == "id" and value:
        return Selector("id", value.upper())
    if colon and kind == "port" and value:
        return Selector("port", value)
    if colon and kind == "usb" and value:
        return Selector("usb", value)
    if colon and kind in ("rfc2217", "socket"):
        try:
            parts = urlsplit(text)
            good = bool(parts.hostname) and parts.port is not None
        except ValueError:
            good = False
        if good:
            return Selector("url", text)
    if not colon and (text.startswith("/dev/") or text.upper().startswith("COM")):
        return Selector("port", text)
    raise BoardUnavailable(
        f"device {text!r} is none of auto, id:SERIAL, port:PATH, usb:PLACE, rfc2217://HOST:PORT,"
        " socket://HOST:PORT, labgrid:PLACE"
    )


class RemoteBus:
    """A board somewhere else, of which only the serial port is here."""

    def __init__(self, url: str) -> None:
        self._device = UsbDevice(port=url, location=url)

    def devices(self) -> list[UsbDevice]:
        return [self._device]


def select(devices: list[UsbDevice], selector: Selector, definition: BoardDefinition) -> UsbDevice:
    """The one device that is meant. `auto` never means an emulated board.

    Raises BoardUnavailable, which names what there is.
    """
    if selector.kind == "id":
        found = [device for device in devices if device.own_serial == selector.value]
    elif selector.kind in ("port", "url"):
        found = [device for device in devices if device.port == selector.value]
    elif selector.kind == "usb":
        found = [device for device in devices if selector.value in (device.location, device.place)]
    else:
        found = [device for device in devices if is_known(device, definition) and not device.emulated]
    if not found:
        seen = "; ".join(device.describe() for device in devices if is_known(device, definition)) or "none"
        raise BoardUnavailable(
            f"{definition.title}: no board {'on USB' if selector.kind == 'auto' else selector};"
            f" plug it in, or hold BOOTSEL while plugging it in (boards seen: {seen})"
        )
    if len(found) > 1:
        seen = "; ".join(device.describe() for device in found)
        raise BoardUnavailable(
            f"{definition.title}: {len(found)} boards fit {selector}; choose with id:SERIAL or usb:PLACE: {seen}"
        )
    return found[0]


class Target:
    """One board, followed through re-enumerations, other ports and other runtimes."""

    def __init__(self, bus: UsbBus, choose: Callable[[list[UsbDevice]], UsbDevice | None]) -> None:
        self._bus = bus
        self._choose = choose
        self._others: list[UsbDevice] = []
        self.known: UsbDevice | None = None

    def find(self) -> UsbDevice | None:
        """The board as it is plugged in now, None while it is not there.

        Raises BoardUnavailable where nothing tells it from others.
        """
        devices = self._bus.devices()
        if self.known is None:
            self.known = self._choose(devices)
            self._others = [device for device in devices if device is not self.known]
            return self.known
        known = self.known
        found = [device for device in devices if same_board(known, device)]
        certain = [device for device in found if _certain(known, device)]
        # Where nothing tells for certain, a board that was there beside ours from the beginning is not ours.
        found = [device for device in found if device in certain or not any(_alike(device, o) for o in self._others)]
        if not certain and len(found) > 1:
            seen = "; ".join(device.describe() for device in found)
            raise BoardUnavailable(f"cannot tell which of these is {known.describe()}; unplug the others: {seen}")
        match = next(iter(certain or found), None)
        if match is not None and (match.own_serial or not known.own_serial):
            self.known = match
        return match


def _alike(one: UsbDevice, other: UsbDevice) -> bool:
    return (one.usb_id, one.serial_number, one.port, one.volume, one.location) == (
        other.usb_id,
        other.serial_number,
        other.port,
        other.volume,
        other.location,
    )


def _certain(known: UsbDevice, seen: UsbDevice) -> bool:
    return bool(known.location and seen.location) or bool(known.own_serial and known.own_serial == seen.own_serial)
