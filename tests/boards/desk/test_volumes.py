"""Drives with more than one logical unit: a folder for each that has a medium."""

from pathlib import Path

import pytest

from portbench.boards.desk.volume_folder import VolumeFolders


class Units:
    """A drive whose logical units all have the label `CARD` and a file with their number."""

    def __init__(self) -> None:
        self.applied: list[tuple[int, list[tuple[str, str, bytes]]]] = []
        self.broken = False

    def volume_list(self, lun: int = 0) -> list[tuple[str, bool, int]]:
        if self.broken:
            raise OSError("no FAT")
        return [("number.txt", False, 1)]

    def volume_label(self, lun: int = 0) -> str:
        return "CARD"

    def volume_read(self, paths: list[str], lun: int = 0) -> list[bytes]:
        return [b"%d" % lun for _ in paths]

    def volume_apply(self, changes: list[tuple[str, str, bytes]], lun: int = 0) -> None:
        self.applied.append((lun, changes))


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def volumes(tmp_path: Path, lines: list[str]) -> VolumeFolders:
    return VolumeFolders(tmp_path, lines.append)


def names(volumes: VolumeFolders) -> list[str]:
    return [folder.path.name for folder in volumes.folders]


def test_each_unit_with_a_medium_is_a_folder_of_its_own_name(volumes: VolumeFolders, tmp_path: Path) -> None:
    units = Units()
    volumes.mount(units, [True, True, False, True])
    assert names(volumes) == ["CARD", "CARD1", "CARD2"]
    assert [(tmp_path / name / "number.txt").read_bytes() for name in ("CARD", "CARD1", "CARD2")] == [b"0", b"1", b"3"]
    volumes.mount(units, [True, True, False, True])
    assert names(volumes) == ["CARD", "CARD1", "CARD2"]


def test_what_is_put_into_a_folder_goes_to_its_unit(volumes: VolumeFolders) -> None:
    units = Units()
    volumes.mount(units, [False, True, True])
    (volumes.folders[1].path / "new.txt").write_bytes(b"new")
    assert [folder.flush() for folder in volumes.folders] == [False, True]
    assert units.applied == [(2, [("write", "new.txt", b"new")])]


def test_a_medium_that_goes_takes_its_folder_along(volumes: VolumeFolders, tmp_path: Path) -> None:
    volumes.mount(Units(), [True, True, True])
    volumes.mount(Units(), [True, False, True])
    assert names(volumes) == ["CARD", "CARD2"] == sorted(path.name for path in tmp_path.iterdir())
    volumes.unmount_gone([])
    assert list(tmp_path.iterdir()) == []


def test_a_medium_that_cannot_be_read_is_said_and_tried_again(volumes: VolumeFolders, lines: list[str]) -> None:
    units = Units()
    units.broken = True
    volumes.mount(units, [False, True])
    assert lines == ["logical unit 1 of the board's drive cannot be mounted: no FAT"] and volumes.folders == ()
    units.broken = False
    volumes.mount(units, [False, True])
    assert names(volumes) == ["CARD"]
