"""The PC's own USB: serial ports from pyserial, mounted volumes from psutil, on Linux unmounted drives too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psutil
from serial.tools import list_ports

from portbench.boards.definition import BoardDefinition, known_boards
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.sysfs import SYSFS, Drive, enumeration_of, usb_drives
from portbench.boards.usb.volume_info import VolumeInfo, read_volume_info


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


def _with_drive(found: list[UsbDevice], drive: Drive, mounted: Path | None) -> list[UsbDevice]:
    """Joins a drive to the device at the same place on the bus."""

    def joined(device: UsbDevice) -> UsbDevice:
        label = mounted.name if mounted else None
        return replace(device, block_device=drive.nodes[0], volume=mounted, volume_label=label)

    for index, device in enumerate(found):
        if device.location == drive.location:
            return [*found[:index], joined(device), *found[index + 1 :]]
    alone = UsbDevice(
        serial_number=drive.serial_number,
        vid=drive.vid,
        pid=drive.pid,
        manufacturer=drive.manufacturer,
        product=drive.product,
        location=drive.location,
        enumeration=drive.enumeration,
    )
    return [*found, joined(alone)]


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
