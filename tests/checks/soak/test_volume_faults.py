"""A drive that refuses files, and one whose copy is torn, as programs see them."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from portbench.boards.desk.volume_folder import Torn, VolumeFolder


class Drive:
    """Files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"code.py": b"old", "INFO_UF2.TXT": b"Board-ID: RPI-RP2"}

    def volume_list(self) -> list[tuple[str, bool, int]]:
        return [(path, False, len(data)) for path, data in self.files.items()]

    def volume_label(self) -> str:
        return "RPI-RP2"

    def volume_read(self, paths: list[str]) -> list[bytes]:
        return [self.files[path] for path in paths]

    def volume_apply(self, changes: list[tuple[str, str, bytes]]) -> None:
        for action, path, data in changes:
            if action == "write":
                self.files[path] = data
            elif action == "remove":
                del self.files[path]


@pytest.fixture
def drive() -> Drive:
    return Drive()


@pytest.fixture
def folder(drive: Drive, tmp_path: Path) -> VolumeFolder:
    return VolumeFolder(drive, tmp_path, lambda line: None)


@pytest.mark.parametrize("name", ["code.py", "firmware.uf2"])
def test_a_full_drive_says_so_to_whoever_writes(folder: VolumeFolder, drive: Drive, name: str) -> None:
    folder.refuse((name,), full=True)
    with pytest.raises(OSError) as caught, (folder.path / name).open("wb", buffering=0) as file:
        file.write(b"x")
    assert caught.value.errno == errno.ENOSPC
    before = dict(drive.files)
    folder.flush()
    assert drive.files == before


@pytest.mark.parametrize("name", ["code.py", "firmware.uf2"])
def test_a_read_only_drive_refuses_even_the_administrator(folder: VolumeFolder, drive: Drive, name: str) -> None:
    folder.refuse((name,), full=False)
    with pytest.raises(OSError) as caught:
        (folder.path / name).open("wb", buffering=0)
    assert caught.value.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    folder.flush()
    assert drive.files["code.py"] == b"old"


def test_it_accepts_again(folder: VolumeFolder, drive: Drive) -> None:
    folder.refuse(("code.py",), full=True)
    folder.accept()
    folder.flush()
    assert drive.files["code.py"] == b"old"
    (folder.path / "code.py").write_bytes(b"new")
    folder.flush()
    assert drive.files["code.py"] == b"new"


@pytest.mark.parametrize("per_mille", [0, 500, 999])
def test_a_torn_copy_leaves_the_beginning_of_the_file(folder: VolumeFolder, drive: Drive, per_mille: int) -> None:
    folder.tear_per_mille = per_mille
    (folder.path / "firmware.uf2").write_bytes(bytes(range(200)))
    with pytest.raises(Torn):
        folder.flush()
    assert drive.files["firmware.uf2"] == bytes(range(200 * per_mille // 1000))
