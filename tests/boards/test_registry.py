"""The folder of running emulated boards: whose it is, and what killed boards left in it."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, BrokenSetup
from portbench.boards import registry as module
from portbench.boards.registry import (
    CONTROL_SOCKET,
    RUNTIME_DIR_VARIABLE,
    SOCKET_NAME_BYTES,
    XDG_VARIABLE,
    EmulatedState,
    claimed_folder,
    read_state,
    running,
    runtime_dir,
    write_state,
)
from portbench.boards.usb.bus import EmulatedBus
from tests import patience

LEAVE = """
import os, socket, sys
from portbench.boards.registry import claimed_folder
claim = claimed_folder(sys.argv[1])
folder = claim.__enter__()
if len(sys.argv) > 2:
    socket.socket(socket.AF_UNIX).bind(str(folder / "control"))
    (folder / "CIRCUITPY").mkdir()
    (folder / "CIRCUITPY" / "code.py").touch()
os._exit(9)
"""
"""Ends as a process does that is killed: nothing is tidied up."""


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pbr-") as folder:  # short, as sockets' names are
        monkeypatch.setenv(RUNTIME_DIR_VARIABLE, f"{folder}/boards")
        yield Path(folder, "boards")


def state(name: str) -> EmulatedState:
    return EmulatedState(name, os.getpid(), "W5500_EVB_PICO", 1, 1, 2, *(None,) * 6)


def killed(*arguments: str) -> None:
    done = patience.run([sys.executable, "-c", LEAVE, *arguments], 120)
    assert done.returncode == 9, done.stderr


def test_a_board_is_known_while_it_holds_its_folder(root: Path) -> None:
    with claimed_folder("desk") as folder:
        write_state(folder, state("desk"))
        assert [found.name for _, found in running()] == ["desk"] and folder == root / "desk"
        assert [oct(path.stat().st_mode & 0o777) for path in (root, folder)] == ["0o700", "0o700"]
        with (
            pytest.raises(BoardUnavailable, match=rf"of that name runs already \(process {os.getpid()}\); use --name"),
            claimed_folder("desk"),
        ):
            pass
        assert read_state(folder) is not None
    assert running() == [] and list(root.iterdir()) == []


def test_a_killed_boards_folder_goes_when_the_next_one_starts(root: Path) -> None:
    killed("early")
    killed("desk", "used")
    (root / "users").mkdir()
    (root / "users" / "thesis.txt").touch()
    write_state(root / "desk", state("desk"))  # its number is another process's by now: ours
    assert running() == []
    with claimed_folder("other"):
        assert sorted(path.name for path in root.iterdir()) == ["early", "other", "users"]
    with claimed_folder("early"), claimed_folder("desk"):
        assert (root / "users" / "thesis.txt").is_file()


@pytest.mark.parametrize("name", ["../..", "..", "a/b", ".hidden", "", "a b", "desk\n", "/tmp/x"])
def test_a_name_is_no_path(name: str, root: Path) -> None:
    with pytest.raises(BoardUnavailable, match="is not a name for a board"), claimed_folder(name):
        pass
    assert not root.exists()


@pytest.mark.parametrize("prepare", ["foreign", "writable", "link", "file"])
def test_a_folder_that_others_can_fill_is_refused(prepare: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if prepare == "file":
        root.write_text("")
    elif prepare == "link":
        (root.parent / "elsewhere").mkdir()
        root.symlink_to(root.parent / "elsewhere")
    else:
        root.mkdir()
        root.chmod(0o777 if prepare == "writable" else 0o755)
    if prepare == "foreign":
        mine = os.getuid()
        monkeypatch.setattr(module.os, "getuid", lambda: mine + 1)
    says = {
        "foreign": rf"belongs to user {os.getuid() - 1}, not to you",
        "writable": "may be written to by others",
        "link": "is a link",
        "file": "is not a folder",
    }[prepare]
    for ask in (runtime_dir, running, claimed_folder("desk").__enter__):
        with pytest.raises(BrokenSetup, match=rf"^{root}: {says}.*; name another: {RUNTIME_DIR_VARIABLE}=FOLDER$"):
            ask()
    assert EmulatedBus().devices() == []


def test_a_name_too_long_for_a_socket_is_refused(root: Path) -> None:
    with pytest.raises(BrokenSetup, match="too long a name for a socket"), claimed_folder("x" * 120):
        pass
    with claimed_folder("x" * (SOCKET_NAME_BYTES - len(f"{root}//{CONTROL_SOCKET}"))) as folder:
        socket.socket(socket.AF_UNIX).bind(str(folder / CONTROL_SOCKET))


def test_the_users_own_runtime_folder_comes_first(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(RUNTIME_DIR_VARIABLE)
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere")
    fallback = Path(f"/somewhere/portbench-{os.getuid()}")
    for value, expected in ((str(tmp_path), tmp_path / "portbench"), ("relative", fallback), ("", fallback)):
        monkeypatch.setenv(XDG_VARIABLE, value)
        assert runtime_dir() == expected
    tmp_path.chmod(0o777)  # as none is that belongs to one user
    monkeypatch.setenv(XDG_VARIABLE, str(tmp_path))
    assert runtime_dir() == fallback
