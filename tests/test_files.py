"""Whole files, locks, and temporary folders of killed processes."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder, hold, lock, locked, new_file, remove_left_behind, replace_file, replacing

NAME = "portbench-test"
MAKE_AND_WAIT = """
import sys
from portbench.files import TemporaryFolder
print(TemporaryFolder("portbench-test").path, flush=True)
sys.stdin.readline()
"""
WRITE_AND_WAIT = """
import sys
from pathlib import Path
from portbench.files import replacing
with replacing(Path(sys.argv[1])):
    print("half", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


def test_what_a_killed_process_left_goes_with_the_next_start(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE_AND_WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    assert left.parent == tmp_path and left.stat().st_mode & 0o077 == 0
    remove_left_behind(NAME)
    assert left.is_dir()  # it lives
    process.kill()
    process.communicate()
    assert left.is_dir()
    mine = TemporaryFolder(NAME)
    assert not left.exists() and mine.path.is_dir()
    mine.remove()
    mine.remove()
    assert list(tmp_path.iterdir()) == []


def test_half_a_file_of_a_killed_process_goes_with_the_next_write(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE_AND_WAIT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    replace_file(other, "whole")
    assert len(list(tmp_path.iterdir())) == 2  # it lives
    process.kill()
    process.communicate()
    replace_file(other, "whole")
    assert list(tmp_path.iterdir()) == [other]


def test_nothing_else_goes(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    target = tmp_path / "target"
    target.mkdir()
    (target / "precious").touch()
    link = tmp_path / f"{NAME}-{dead.pid}-link"
    link.symlink_to(target)
    others = [tmp_path / f"{NAME}-notes", tmp_path / f"{NAME}-{os.getpid()}-mine", tmp_path / f"{NAME}s-1-x"]
    for each in others:
        each.mkdir()
    file = tmp_path / f"{NAME}-{dead.pid}-file"
    file.touch()
    link_to_file = tmp_path / f".writing-{dead.pid}-link"
    link_to_file.symlink_to(file)
    remove_left_behind(NAME)
    replace_file(tmp_path / "other", "whole")
    assert (target / "precious").exists() and link.is_symlink() and file.exists() and link_to_file.is_symlink()
    assert all(each.is_dir() for each in others)


def test_a_folder_that_is_held_stays_though_its_process_is_not_seen(tmp_path: Path) -> None:
    """That process is of another container, perhaps."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    folder = tmp_path / f"{NAME}-{dead.pid}-held"
    folder.mkdir()
    handle = hold(folder, shared=True)
    remove_left_behind(NAME)
    assert folder.is_dir()
    os.close(handle)
    remove_left_behind(NAME)
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_stays(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    other = tmp_path / f"{NAME}-{dead.pid}-other"
    other.mkdir()
    os.chown(other, 65534, 65534)
    remove_left_behind(NAME)
    assert other.is_dir()


def test_a_lock_is_free_again_after_its_block(tmp_path: Path) -> None:
    busy = PortbenchError("in use")
    for _ in range(2):
        with locked(tmp_path / "lock", busy), pytest.raises(PortbenchError, match="in use"):
            lock(tmp_path / "lock", busy)


def test_a_file_that_cannot_be_finished_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, "before")
    with pytest.raises(RuntimeError), replacing(path) as stream:
        stream.write(b"half")
        raise RuntimeError
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]
    replace_file(path, b"after", synced=False)
    assert path.read_text() == "after"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_has_the_rights_of_the_umask(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        replace_file(tmp_path / "replaced", "run")
        new_file(tmp_path / "new", "run")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {mode}


def test_a_full_disk_is_told_with_the_files_name(tmp_path: Path) -> None:
    file = tmp_path / "wires.vcd"
    with pytest.raises(OSError, match="No space left") as caught, replacing(file) as stream:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(file) and list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, "all")
        assert os.read(reader, 10) == b"all" and pipe.is_fifo()
    finally:
        os.close(reader)
