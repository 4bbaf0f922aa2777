"""The PC's own USB, from a /sys and a mount table made for the test."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from serial.tools import list_ports

from portbench.boards.usb.discovery import SystemBus
from tests.usb.fake_board import BOOT_OUT, INFO_UF2


def device(sysfs: Path, place: str, vid: str, pid: str, number: int, drive: str | None) -> None:
    folder = sysfs / "bus/usb/devices" / place
    folder.mkdir(parents=True)
    facts = {"idVendor": vid, "idProduct": pid, "busnum": "1", "devnum": str(number), "serial": "E0C9125B0D9B"}
    for name, value in facts.items():
        (folder / name).write_text(value + "\n")
    if drive is not None:
        (folder / f"{place}:1.0/host4/target4:0:0/4:0:0:0/block/{drive}/{drive}1").mkdir(parents=True)


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


def test_a_boot_loader_whose_drive_nobody_mounted(tmp_path: Path, pc: SimpleNamespace) -> None:
    device(tmp_path, "1-1.2", "2e8a", "0003", 9, "sdb")
    (found,) = SystemBus(tmp_path).devices()
    assert (found.vid, found.pid, found.location, found.enumeration) == (0x2E8A, 3, "1-1.2", "1:9")
    assert (found.block_device, found.volume) == ("/dev/sdb1", None)


def test_the_same_once_it_is_mounted(tmp_path: Path, pc: SimpleNamespace) -> None:
    device(tmp_path, "1-1.2", "2e8a", "0003", 9, "sdb")
    pc.mounts.append(SimpleNamespace(device="/dev/sdb1", mountpoint="/media/me/RPI-RP2"))
    (found,) = SystemBus(tmp_path).devices()
    assert found.volume == Path("/media/me/RPI-RP2")


def test_port_and_drive_at_one_place_are_one_device(tmp_path: Path, pc: SimpleNamespace) -> None:
    device(tmp_path, "1-1", "2e8a", "1029", 4, "sda")
    device(tmp_path, "1-2", "2e8a", "0005", 5, None)
    pc.ports += [port("/dev/ttyACM1", 0x1029, "1-1:1.0", "AA"), port("/dev/ttyACM0", 5, "1-2:1.0", "BB")]
    pc.ports.append(SimpleNamespace(device="/dev/ttyS0", vid=None))
    circuitpython, micropython = SystemBus(tmp_path).devices()
    assert (circuitpython.port, circuitpython.block_device) == ("/dev/ttyACM1", "/dev/sda1")
    assert (micropython.port, micropython.block_device, micropython.enumeration) == ("/dev/ttyACM0", None, "1:5")


def test_without_sysfs_volumes_say_whose_they_are(tmp_path: Path, pc: SimpleNamespace) -> None:
    boot, drive, other = (tmp_path / name for name in ("boot", "drive", "other"))
    for folder in (boot, drive, other):
        folder.mkdir()
        pc.mounts.append(SimpleNamespace(device=str(folder), mountpoint=str(folder)))
    (boot / "INFO_UF2.TXT").write_text(INFO_UF2)
    (drive / "boot_out.txt").write_text(BOOT_OUT)
    pc.ports += [port("COM3", 0x1029, None, "E6605838833A552C"), port("COM4", 0x1029, None, "E600000000000000")]
    mine, others, loader = sorted(SystemBus(tmp_path / "nosys").devices(), key=lambda each: each.port or "z")
    assert (mine.port, mine.volume) == ("COM3", drive)
    assert (others.port, others.volume) == ("COM4", None)
    assert (loader.pid, loader.volume, loader.port) == (3, boot, None)


@pytest.mark.parametrize(
    ("serials", "uid", "joined"),
    [
        (["E600000000000000"], True, []),  # another board, whose port is not there
        (["E600000000000000", "E6605838833A552C"], True, ["E6605838833A552C"]),
        (["E600000000000000"], False, ["E600000000000000"]),  # CircuitPython 6 tells no UID
        (["E600000000000000", "E600000000000001"], False, []),
    ],
)
def test_a_drive_is_joined_to_its_own_port_alone(
    serials: list[str], uid: bool, joined: list[str], tmp_path: Path, pc: SimpleNamespace
) -> None:
    drive = tmp_path / "drive"
    drive.mkdir()
    (drive / "boot_out.txt").write_text(BOOT_OUT if uid else re.sub("UID:.*\n", "", BOOT_OUT))
    pc.mounts.append(SimpleNamespace(device="D:", mountpoint=str(drive)))
    pc.ports += [port(f"COM{number}", 0x1029, None, serial) for number, serial in enumerate(serials)]
    found = SystemBus(tmp_path / "nosys").devices()
    assert [each.serial_number for each in found if each.port and each.volume] == joined
    assert [each.volume for each in found if not each.port] == ([] if joined else [drive])


def test_a_mount_table_that_cannot_be_read(
    tmp_path: Path, pc: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(all: bool) -> None:
        raise OSError("no /etc/mtab")

    monkeypatch.setattr(psutil, "disk_partitions", fails)
    assert SystemBus(tmp_path).devices() == []
