"""The USB devices that are plugged in, the running emulated boards among them, and which of them is meant.

A user names a board in mpremote's words: `auto`, `id:SERIAL`, `port:PATH`, `rfc2217://...`, `socket://...`. Beside
these `usb:PLACE`, where the board is plugged in (`1-1.2`, or an emulated board's name): in its boot loader it has no
serial number, and often no port.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol
from urllib.parse import urlsplit

from portbench.boards.definition import BoardDefinition, UsbId
from portbench.boards.registry import EmulatedState, read_state, running
from portbench.console import shown
from portbench.errors import BoardUnavailable, BrokenSetup

BOOTROM_SERIALS = frozenset({"E0C9125B0D9B", "000000000000", "00000000A4A1"})
"""Serial numbers of the boot loaders of all RP2040s (bootrom B0 to B2) and of all emulated boards. They do not identify
a board."""


@dataclass(frozen=True)
class UsbDevice:
    """One USB device as this PC sees it now; None where it does not have one or the system does not report it.

    `port`: the serial port's path or name. `volume`: the mount point of its drive; `block_device`: the drive's node
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
    """True if the chip's boot loader answers."""
    return device.usb_id == definition.usb.bootloader


def is_known(device: UsbDevice, definition: BoardDefinition) -> bool:
    """True if the device's ids are ones that this kind of board uses. All RP2 boards share MicroPython's."""
    ids = definition.usb
    bridges = () if definition.avr is None else definition.avr.bridges
    return device.usb_id in (ids.bootloader, ids.micropython, ids.circuitpython, *bridges)


def same_board(known: UsbDevice, seen: UsbDevice) -> bool:
    """True if `seen` is the board that was `known` before it re-enumerated: same place, else same serial number."""
    if known.location and seen.location:
        return known.location == seen.location and known.emulated == seen.emulated
    if known.own_serial and seen.own_serial:
        return known.own_serial == seen.own_serial
    # Some systems do not report where a device is, and the boot loader has no serial number.
    return known.own_serial is None or seen.own_serial is None


AUTO = "auto"
_KINDS: Final[tuple[Literal["id", "port", "usb"], ...]] = ("id", "port", "usb")


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
    for known in _KINDS:
        if kind == known and value:
            return Selector(known, value.upper() if known == "id" else value)
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
        f"device {text!r} is not one of auto, id:SERIAL, port:PATH, usb:PLACE, rfc2217://HOST:PORT, socket://HOST:PORT"
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
        or_else = "name its port, --device port:PATH" if definition.avr else "hold BOOTSEL while plugging it in"
        raise BoardUnavailable(
            f"{definition.title}: no board {'on USB' if selector.kind == 'auto' else selector};"
            f" plug it in, or {or_else} (boards seen: {seen})"
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
        # Without certainty, a board that was there beside ours from the beginning is not ours.
        found = [device for device in found if device in certain or not any(_alike(device, o) for o in self._others)]
        if not certain and len(found) > 1:
            seen = "; ".join(device.describe() for device in found)
            raise BoardUnavailable(f"cannot tell which of these is {known.describe()}; unplug the others: {seen}")
        match = next(iter(certain or found), None)
        if match is not None and (match.own_serial or not known.own_serial):
            self.known = match
        return match


def _alike(one: UsbDevice, other: UsbDevice) -> bool:
    names = ("usb_id", "serial_number", "port", "volume", "location")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _certain(known: UsbDevice, seen: UsbDevice) -> bool:
    return bool(known.location and seen.location) or bool(known.own_serial and known.own_serial == seen.own_serial)


_SCHEME = "emulated:"


class EmulatedBus:
    """All running emulated boards, or only the one in `folder`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def devices(self) -> list[UsbDevice]:
        if self._folder is None:
            try:
                return [_device(folder, state) for folder, state in running() if state.usb_vid is not None]
            except BrokenSetup:
                return []
        state = read_state(self._folder)
        return [_device(self._folder, state)] if state is not None and state.usb_vid is not None else []


def is_emulated(device: str, definition: BoardDefinition) -> bool:
    """True if `device`, a value of `--device`, names a running emulated board; by its name also while it is off
    the bus."""
    try:
        selector = parse_selector(device)
        boards = running()
        if selector.kind == "usb":
            return any(selector.value in (folder.name, f"{_SCHEME}{folder}") for folder, _ in boards)
        select([_device(folder, state) for folder, state in boards], selector, definition)
    except (BoardUnavailable, BrokenSetup):
        return False
    return True


def _device(folder: Path, state: EmulatedState) -> UsbDevice:
    return UsbDevice(
        serial_number=state.serial_number,
        vid=state.usb_vid,
        pid=state.usb_pid,
        manufacturer=state.manufacturer,
        product=state.product,
        port=state.port,
        volume=Path(state.volume) if state.volume else None,
        volume_label=state.volume_label,
        location=f"{_SCHEME}{folder}",
        enumeration=str(state.generation),
        emulated=True,
        provider_pid=state.pid,
    )
