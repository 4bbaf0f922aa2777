"""A drive that refuses files, and one whose copy is torn, as programs see them."""

from __future__ import annotations

import errno
from pathlib import Path
from unittest.mock import Mock, call, create_autospec

import pytest

from portbench.boards.desk.volume_folder import MassStorage, Torn, VolumeFolder


@pytest.fixture
def drive() -> Mock:
    """It has `code.py`, and notes each write."""
    made = create_autospec(MassStorage, instance=True)
    made.volume_list.return_value = [("code.py", False, 3)]
    made.volume_label.return_value = "RPI-RP2"
    made.volume_read.side_effect = lambda paths, lun: [b"old" for _ in paths]
    return made


@pytest.fixture
def folder(drive: Mock, tmp_path: Path) -> VolumeFolder:
    return VolumeFolder(drive, tmp_path, lambda line: None)


@pytest.mark.parametrize("name", ["code.py", "firmware.uf2"])
def test_a_full_drive_says_so_to_whoever_writes(folder: VolumeFolder, drive: Mock, name: str) -> None:
    folder.refuse((name,), full=True)
    with pytest.raises(OSError) as caught, (folder.path / name).open("wb", buffering=0) as file:
        file.write(b"x")
    assert caught.value.errno == errno.ENOSPC
    folder.flush()
    assert not drive.volume_apply.called


@pytest.mark.parametrize("name", ["code.py", "firmware.uf2"])
def test_a_read_only_drive_refuses_even_the_administrator(folder: VolumeFolder, drive: Mock, name: str) -> None:
    folder.refuse((name,), full=False)
    with pytest.raises(OSError) as caught:
        (folder.path / name).open("wb", buffering=0)
    assert caught.value.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    folder.flush()
    assert not drive.volume_apply.called


def test_it_accepts_again(folder: VolumeFolder, drive: Mock) -> None:
    folder.refuse(("code.py",), full=True)
    folder.accept()
    folder.flush()
    assert not drive.volume_apply.called
    (folder.path / "code.py").write_bytes(b"new")
    folder.flush()
    assert drive.volume_apply.mock_calls == [call([("write", "code.py", b"new")], 0)]


@pytest.mark.parametrize("per_mille", [0, 500, 999])
def test_a_torn_copy_leaves_the_beginning_of_the_file(folder: VolumeFolder, drive: Mock, per_mille: int) -> None:
    folder.tear_per_mille = per_mille
    (folder.path / "firmware.uf2").write_bytes(bytes(range(200)))
    with pytest.raises(Torn):
        folder.flush()
    beginning = bytes(range(200 * per_mille // 1000))
    assert drive.volume_apply.mock_calls == [call([("write", "firmware.uf2", beginning)], 0)]
