"""The boards that are attached, and their states.

The PC's own USB tells them: serial ports from pyserial, mounted volumes from psutil, and on Linux also unmounted drives
from /sys.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import psutil
from serial.tools import list_ports

from portbench.boards.definition import BoardDefinition, known_boards
from portbench.boards.repl import Repl, identify
from portbench.boards.timing import Deadline, counting
from portbench.boards.usb.bus import Buses, EmulatedBus, UsbBus, UsbDevice, is_bootloader, is_known
from portbench.boards.usb.port import SerialWire, open_port
from portbench.boards.usb.volume import VolumeInfo, read_volume_info
from portbench.console import shown
from portbench.errors import BoardError, BoardUnavailable, DeadlineExceeded

SYSFS = Path("/sys")


@dataclass(frozen=True)
class UsbDrive:
    """A USB device with a drive. `nodes`: partitions first. Its `location` as pyserial writes it (`1-1.2`)."""

    nodes: tuple[str, ...]
    device: UsbDevice


def usb_drives(sysfs: Path = SYSFS) -> list[UsbDrive]:
    """All USB drives, mounted or not; none where there is no /sys."""
    found = []
    for device in sorted((sysfs / "bus/usb/devices").glob("*-*")):
        if ":" in device.name:
            continue
        blocks = sorted(device.glob("*/host*/target*/*/block/*"))
        if not blocks:
            continue
        partitions = [path.name for block in blocks for path in sorted(block.glob(f"{block.name}*"))]
        try:
            vid, pid = (int(_text(device, name) or "", 16) for name in ("idVendor", "idProduct"))
        except ValueError:
            continue  # unplugged while we looked
        found.append(
            UsbDrive(
                tuple(f"/dev/{name}" for name in [*partitions, *(block.name for block in blocks)]),
                UsbDevice(
                    serial_number=_text(device, "serial"),
                    vid=vid,
                    pid=pid,
                    manufacturer=_text(device, "manufacturer"),
                    product=_text(device, "product"),
                    location=device.name,
                    enumeration=_enumeration(device),
                ),
            )
        )
    return found


def enumeration_of(sysfs: Path, location: str) -> str | None:
    """Return bus and device number of the device at `location`; None without /sys."""
    device = sysfs / "bus/usb/devices" / location
    return _enumeration(device) if device.exists() else None


def _enumeration(device: Path) -> str:
    return f"{_text(device, 'busnum')}:{_text(device, 'devnum')}"


def _text(device: Path, name: str) -> str | None:
    try:
        return (device / name).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


class SystemBus:
    """Everything with a USB serial port, and every drive that a board shows. `sysfs` is for tests."""

    def __init__(self, sysfs: Path = SYSFS) -> None:
        self._sysfs = sysfs

    def devices(self) -> list[UsbDevice]:
        found = self._ports()
        mounts = _mounts()
        drives = usb_drives(self._sysfs)
        for drive in drives:
            found = _with_drive(found, drive, next((mounts[node] for node in drive.nodes if node in mounts), None))
        if not drives:  # not Linux, or no /sys: only what a volume says about itself
            for path in mounts.values():
                found = _with_volume(found, path)
        return found

    def _ports(self) -> list[UsbDevice]:
        devices = []
        for port in list_ports.comports():
            if port.vid is None:
                continue
            location = port.location.split(":")[0] if port.location else None
            devices.append(
                UsbDevice(
                    serial_number=port.serial_number,
                    vid=port.vid,
                    pid=port.pid,
                    manufacturer=port.manufacturer,
                    product=port.product,
                    port=port.device,
                    location=location,
                    enumeration=enumeration_of(self._sysfs, location) if location else None,
                )
            )
        return devices


def _mounts() -> dict[str, Path]:
    """Mounted volumes by device node."""
    try:
        return {partition.device: Path(partition.mountpoint) for partition in psutil.disk_partitions(all=False)}
    except (OSError, RuntimeError):
        return {}


def _with_drive(found: list[UsbDevice], drive: UsbDrive, mounted: Path | None) -> list[UsbDevice]:
    """Joins a drive to the device at the same place on the bus."""

    def joined(device: UsbDevice) -> UsbDevice:
        label = mounted.name if mounted else None
        return replace(device, block_device=drive.nodes[0], volume=mounted, volume_label=label)

    for index, device in enumerate(found):
        if device.location == drive.device.location:
            return [*found[:index], joined(device), *found[index + 1 :]]
    return [*found, joined(drive.device)]


def _with_volume(found: list[UsbDevice], path: Path) -> list[UsbDevice]:
    """Joins a volume by what its own file says: serial number, else the only board of its kind."""
    info = read_volume_info(path)
    definition = None if info is None else _definition_of(info)
    if info is None or definition is None:
        return found
    if info.kind == "bootloader":
        ids = definition.usb.bootloader
        return [*found, UsbDevice(vid=ids.vid, pid=ids.pid, volume=path, volume_label=definition.volumes.bootloader)]

    def joined(device: UsbDevice) -> UsbDevice:
        return replace(device, volume=path, volume_label=definition.volumes.circuitpython)

    alike = [device for device in found if device.usb_id == definition.usb.circuitpython]
    mine = [device for device in alike if info.uid and device.own_serial == info.uid.upper()]
    if len(mine) == 1 or (not info.uid and len(alike) == 1):
        device = (mine or alike)[0]
        return [joined(each) if each is device else each for each in found]
    ids = definition.usb.circuitpython
    return [*found, joined(UsbDevice(serial_number=info.uid, vid=ids.vid, pid=ids.pid))]


def _definition_of(info: VolumeInfo) -> BoardDefinition | None:
    for definition in known_boards().values():
        if info.board_id == definition.volumes.bootloader_board_id and info.kind == "bootloader":
            return definition
        if info.board_id == definition.circuitpython_id and info.kind == "circuitpython":
            return definition
    return None


State = Literal["console", "bootloader", "bridge", "busy", "no permission", "silent"]

_ASK_S = 5.0
_LOOK_S = 0.02
_SETTLES_S = 2.0
"""An emulated board shows its port or drive this soon after itself, or has none."""


HEADING: Final = ("device", "USB id", "runtime", "board", "port", "drive", "state", "")


@dataclass(frozen=True)
class AttachedBoard:
    """One attached board. `runtime`, `version` and `board_id` are empty if not known.

    `state`: `console` (a prompt or drive answers), `bootloader`, `bridge` (to an ATmega, which has no prompt), `busy`
    (another program has its port), `no permission`, `silent` (the console does not answer). `advice`: what to do about
    it, empty where all is well.
    """

    device: UsbDevice
    state: State
    runtime: str = ""
    version: str = ""
    board_id: str = ""
    machine: str = ""
    advice: str = ""

    @property
    def selector(self) -> str:
        """Name for --device that holds when the board becomes another USB device.

        All emulated boards have one flash chip's serial number.
        """
        serial, place = self.device.own_serial, self.device.place
        if serial and not self.device.emulated:
            return f"id:{serial}"
        return f"usb:{place}" if place else f"port:{self.device.port}" if self.device.port else "auto"

    def cells(self) -> list[str]:
        """A row for people, below HEADING."""
        device = self.device
        cells = [
            self.selector,
            str(device.usb_id or "-"),
            f"{self.runtime} {self.version}".strip() or "-",
            self.board_id or self.machine or "-",
            device.port or "-",
            str(device.volume or device.block_device or "-"),
            self.state + (" (emulated)" if device.emulated else ""),
        ]
        return [shown(each) for each in (*cells, self.advice)]


def attached(definition: BoardDefinition) -> list[UsbDevice]:
    """Real devices whose USB ids this kind of board uses. Opens nothing."""
    return [device for device in SystemBus().devices() if is_known(device, definition)]


def listing(bus: UsbBus | None = None, *, ask: bool = True, ask_s: float = _ASK_S) -> list[AttachedBoard]:
    """All attached boards of the kinds we know, real and emulated.

    `ask`: interrupt what runs on a board and ask its REPL where its drive does not say what it is. Never raises for a
    board that cannot be asked.
    """
    bus = bus or Buses(SystemBus(), EmulatedBus())
    return [_look_at(_settled(device, bus), ask, ask_s) for device in _known(bus)]


def attached_selectors() -> list[str]:
    """List the selector of each attached board of a known kind, real or emulated. Opens nothing."""
    shown = filter(_is_settled, _known(Buses(SystemBus(), EmulatedBus())))
    return [AttachedBoard(device, "console").selector for device in shown]


def _is_settled(device: UsbDevice) -> bool:
    """False for an emulated board whose port or drive may follow in a moment."""
    return not device.emulated or device.port is not None or device.volume is not None


def _settled(device: UsbDevice, bus: UsbBus) -> UsbDevice:
    """Return the device with its port or drive; as it is where neither follows."""

    def look() -> UsbDevice | None:
        now = next((each for each in bus.devices() if each.location == device.location), None)
        return device if now is None else now if _is_settled(now) else None

    if _is_settled(device):
        return device
    with counting(device.provider_pid), suppress(DeadlineExceeded):
        return Deadline(_SETTLES_S, "list").poll(look, _LOOK_S, "the board's port or drive")
    return device


def _known(bus: UsbBus) -> list[UsbDevice]:
    """The devices whose USB ids some kind of board uses."""
    kinds = known_boards().values()
    return [device for device in bus.devices() if any(is_known(device, definition) for definition in kinds)]


def _look_at(device: UsbDevice, ask: bool, ask_s: float) -> AttachedBoard:
    info = read_volume_info(device.volume) if device.volume is not None else None
    if any(is_bootloader(device, definition) for definition in known_boards().values()):
        advice = "" if device.volume else "its drive is not mounted"
        return replace(_told(device, "bootloader", info, advice), runtime="UF2 boot loader")
    kinds = (kind for kind in known_boards().values() if kind.avr is not None)
    if (kind := next((kind for kind in kinds if is_known(device, kind)), None)) is not None:
        return AttachedBoard(device, "bridge", board_id=kind.id)
    if device.port is None and info is None:
        return AttachedBoard(device, "silent", advice="it has neither a serial port nor a drive that can be read")
    if device.port is None:
        return _told(device, "console", info, "it has no serial port")
    deadline = Deadline(ask_s, device.port)
    try:
        port = open_port(device.port, device.port, deadline, provider_pid=device.provider_pid, settle_s=0.001)
    except BoardUnavailable as error:
        state: State = "no permission" if "no permission" in str(error) else "busy"
        return _told(device, state, info, str(error))
    repl = Repl(SerialWire(port, device.port), device.port)
    try:
        if info is not None or not ask:
            return _told(device, "console", info)
        found = identify(repl, deadline)
        repl.leave(deadline)
    except BoardError as error:
        return AttachedBoard(device, "silent", advice=str(error))
    finally:
        repl.close()
    return AttachedBoard(device, "console", found.family, found.version, found.board_id, found.machine)


def _told(device: UsbDevice, state: State, info: VolumeInfo | None, advice: str = "") -> AttachedBoard:
    """Describe a board by its drive, where it has one."""
    if info is None:
        return AttachedBoard(device, state, advice=advice)
    return AttachedBoard(device, state, info.kind, info.version or "", info.board_id, info.machine or "", advice)
