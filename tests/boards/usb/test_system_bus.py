"""The PC's own USB, from a /sys and a mount table made for the test."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from serial.tools import list_ports

from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.discovery import SystemBus, usb_drives
from tests.boards.usb.fake_board import BOOT_OUT, INFO_UF2


def device(sysfs: Path, place: str, vid: str, pid: str, number: int, drives: tuple[str, ...] = ()) -> None:
    folder = sysfs / "bus/usb/devices" / place
    folder.mkdir(parents=True)
    facts = {"idVendor": vid, "idProduct": pid, "busnum": "1", "devnum": str(number), "serial": "E0C9125B0D9B"}
    facts |= {"manufacturer": "", "product": "Thing"}
    for name, value in facts.items():
        (folder / name).write_text(value + "\n")
    (folder.with_name(f"{place}:1.0") / "host4").mkdir(parents=True)  # an interface of the device is none
    for drive in drives:
        for part in (f"{drive}2", f"{drive}1", "queue"):
            (folder / f"{place}:1.0/host4/target4:0:0/4:0:0:0/block/{drive}/{part}").mkdir(parents=True)


@pytest.fixture
def pc(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    found = SimpleNamespace(ports=[], mounts=[])
    monkeypatch.setattr(list_ports, "comports", lambda: found.ports)
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: found.mounts)
    return found


def port(name: str, pid: int, location: str | None, serial: str) -> SimpleNamespace:
    return SimpleNamespace(
        device=name, vid=0x2E8A, pid=pid, location=location, serial_number=serial, manufacturer="M", product="P"
    )


LOADER = UsbDevice("E0C9125B0D9B", 0x2E8A, 3, None, "Thing", block_device="/dev/sdb1", location="1-1.2")


@pytest.mark.parametrize("mounted", [None, "sdb1", "sdb2", "sdb", "sdc1"])
def test_the_drive_of_a_boot_loader_and_where_it_is_mounted(
    mounted: str | None, tmp_path: Path, pc: SimpleNamespace
) -> None:
    device(tmp_path, "1-1", "1d6b", "0002", 1)
    device(tmp_path, "1-1.2", "2e8a", "0003", 9, ("sdb", "sdc"))
    device(tmp_path, "1-1.3", "gone", "0003", 8, ("sdd",))
    if mounted:
        pc.mounts += [SimpleNamespace(device=f"/dev/{mounted}", mountpoint="/media/me/RPI-RP2")]
    there: dict[str, Any] = {"volume": Path("/media/me/RPI-RP2"), "volume_label": "RPI-RP2"} if mounted else {}
    assert SystemBus(tmp_path).devices() == [replace(LOADER, enumeration="1:9", **there)]
    device(tmp_path, "12-1", "2e8a", "0003", 2, ("sde",))  # of another root hub
    drive, other = usb_drives(tmp_path)
    assert (other.device.location, other.nodes) == ("12-1", ("/dev/sde1", "/dev/sde2", "/dev/sde"))
    assert drive.nodes == tuple(f"/dev/{name}" for name in ("sdb1", "sdb2", "sdc1", "sdc2", "sdb", "sdc"))


def test_port_and_drive_at_one_place_are_one_device(tmp_path: Path, pc: SimpleNamespace) -> None:
    device(tmp_path, "1-1", "2e8a", "1029", 4, ("sda",))
    device(tmp_path, "1-2", "2e8a", "0005", 5)
    pc.ports += [SimpleNamespace(device="/dev/ttyS0", vid=None), port("/dev/ttyACM1", 0x1029, "1-1:1.0", "AA")]
    pc.ports += [port("/dev/ttyACM0", 5, "1-2:1.0", "BB"), port("/dev/ttyACM2", 5, "1-9", "CC")]
    (tmp_path / "boot_out.txt").write_text(BOOT_OUT)  # a copy of a board's drive, on another one
    pc.mounts.append(SimpleNamespace(device="/dev/nvme0n1p1", mountpoint=str(tmp_path)))
    found: dict[str, Any] = {"vid": 0x2E8A, "manufacturer": "M", "product": "P"}
    assert SystemBus(tmp_path).devices() == [
        UsbDevice(
            "AA", pid=0x1029, port="/dev/ttyACM1", location="1-1", block_device="/dev/sda1", enumeration="1:4", **found
        ),
        UsbDevice("BB", pid=5, port="/dev/ttyACM0", location="1-2", enumeration="1:5", **found),
        UsbDevice("CC", pid=5, port="/dev/ttyACM2", location="1-9", **found),
    ]


def test_without_sysfs_volumes_say_whose_they_are(tmp_path: Path, pc: SimpleNamespace) -> None:
    boot, drive, other = (tmp_path / name for name in ("boot", "drive", "other"))
    for folder in (boot, drive, other):
        folder.mkdir()
        pc.mounts.append(SimpleNamespace(device=str(folder), mountpoint=str(folder)))
    (boot / "INFO_UF2.TXT").write_text(INFO_UF2)
    (drive / "boot_out.txt").write_text(BOOT_OUT.replace("E6605838833A552C", "e6605838833a552c"))
    pc.ports += [port("COM3", 0x1029, None, "E6605838833A552C"), port("COM4", 0x1029, None, "E600000000000000")]
    found: dict[str, Any] = {"vid": 0x2E8A, "manufacturer": "M", "product": "P"}
    assert SystemBus(tmp_path / "nosys").devices() == [
        UsbDevice("E6605838833A552C", pid=0x1029, port="COM3", volume=drive, volume_label="CIRCUITPY", **found),
        UsbDevice("E600000000000000", pid=0x1029, port="COM4", **found),
        UsbDevice(vid=0x2E8A, pid=3, volume=boot, volume_label="RPI-RP2"),
    ]


def test_a_mount_table_that_cannot_be_read(
    tmp_path: Path, pc: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(all: bool) -> None:
        raise OSError("no /etc/mtab")

    monkeypatch.setattr(psutil, "disk_partitions", fails)
    assert SystemBus(tmp_path).devices() == []
