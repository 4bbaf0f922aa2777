"""The registry of running emulated boards: one folder each, with `board.json` in it.

It stands for the operating system's list of USB devices. The folder of these folders belongs to one user alone: another
user who could write there would choose where images and clients are written.
"""

import contextlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from portbench.errors import BoardUnavailable, BrokenSetup
from portbench.files import hold, is_held, replace_file, replace_link

RUNTIME_DIR_VARIABLE = "PORTBENCH_RUNTIME_DIR"
KEPT_FLASH_VARIABLE = "PORTBENCH_KEPT_FLASH"
XDG_VARIABLE = "XDG_RUNTIME_DIR"
STATE_FILE = "board.json"
CONTROL_SOCKET = "control"

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
SOCKET_NAME_BYTES = 107 if sys.platform == "linux" else 103
"""The longest name that a socket can have (sys/un.h)."""


def runtime_dir() -> Path:
    """Folder of the running boards' folders: `PORTBENCH_RUNTIME_DIR`, else `portbench` in the user's `XDG_RUNTIME_DIR`,
    else `portbench-UID` in the temporary folder. It need not exist.

    Raises BrokenSetup where it is another user's, or others may write to it.
    """
    folder = _runtime_dir()
    if fault := _fault(folder):
        raise BrokenSetup(f"{folder}: {fault}; name another: {RUNTIME_DIR_VARIABLE}=FOLDER")
    return folder


def _runtime_dir() -> Path:
    if named := os.environ.get(RUNTIME_DIR_VARIABLE):
        return Path(named)
    session = os.environ.get(XDG_VARIABLE)
    if session and Path(session).is_absolute() and _fault(Path(session)) is None and Path(session).is_dir():
        return Path(session) / "portbench"
    return Path(tempfile.gettempdir()) / f"portbench-{_user()}"


def _user() -> int | str:
    return os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _fault(folder: Path) -> str | None:
    """Return why this user cannot trust `folder`; None where the folder is safe or does not exist."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder" if not stat.S_ISLNK(found.st_mode) else "is a link, which another user may have made"
    if hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            return f"belongs to user {found.st_uid}, not to you"
        if found.st_mode & _OTHERS_WRITE:
            return f"may be written to by others (mode {stat.S_IMODE(found.st_mode):04o}), who may have made links"
    return None


@contextlib.contextmanager
def claimed_folder(name: str) -> Iterator[Path]:
    """The folder of a board called `name`, of this process alone, gone at the end.

    Boards whose processes were killed have left theirs: those go now. Raises BrokenSetup where no board can have one,
    BoardUnavailable where the name is none, or another board's.
    """
    if _NAME.fullmatch(name) is None:
        raise BoardUnavailable(f"{name!r} is not a name for a board; use letters, digits, '-', '_' and '.'")
    root = runtime_dir()
    folder = root / name
    if len(os.fsencode(folder / CONTROL_SOCKET)) > SOCKET_NAME_BYTES:
        raise BrokenSetup(
            f"{folder}: is too long a name for a socket; name a shorter folder: {RUNTIME_DIR_VARIABLE}=FOLDER"
        )
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        runtime_dir()  # another process was faster, perhaps of another user
        with _locked(root):
            _remove_left_behind(root)
            if not is_held(folder):  # killed before it had anything in it
                with contextlib.suppress(OSError):
                    folder.rmdir()
            folder.mkdir(mode=0o700)
            mine = hold(folder)  # distinguishes a running board from a killed one
            assert mine is not None  # a system with pseudo-terminals has locks
    except FileExistsError:
        state = _read(folder)
        who = f" (process {state.pid})" if state else ""
        raise BoardUnavailable(f"a board of that name runs already{who}; use --name") from None
    except OSError as error:
        raise BrokenSetup(
            f"{error.filename or root}: cannot be used ({error.strerror}); name another: {RUNTIME_DIR_VARIABLE}=FOLDER"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(mine)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make other processes that start a board wait for the milliseconds that this takes."""
    handle = hold(folder)
    assert handle is not None
    try:
        yield
    finally:
        os.close(handle)


def _remove_left_behind(root: Path) -> None:
    """Only what boards made: `root` may be a folder of the user's with other things in it."""
    for folder in root.iterdir():
        if (folder / CONTROL_SOCKET).is_socket() and not is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)
    for link, board in list(links_in(root)):
        if not is_held(root / board):
            link.unlink(missing_ok=True)  # that terminal belongs to another program now


@dataclass(frozen=True)
class EmulatedState:
    """An emulated board as a PC sees it now.

    `port`: the serial port's path; `volume`: the mounted drive's folder; both None while there is none. `generation`
    grows with each USB enumeration. `pid` is the board's process. `uarts`: the paths of UART0 and UART1, where
    they have any. `further_ports`: the paths of its second serial port and so on; `further_volumes`: the folders of its
    drive's second logical unit and so on; `unused`: what the PC has no driver for, as `HID keyboard (interface 3, class
    03:01:01)`. `notice`: a message for the board's user.
    """

    name: str
    pid: int
    definition: str
    generation: int
    usb_vid: int | None
    usb_pid: int | None
    serial_number: str | None
    manufacturer: str | None
    product: str | None
    port: str | None
    volume: str | None
    volume_label: str | None
    uarts: list[str] = field(default_factory=list)
    notice: str | None = None
    further_ports: list[str] = field(default_factory=list)
    further_volumes: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def write_state(folder: Path, state: EmulatedState) -> None:
    """Replace the board's state file."""
    replace_file(folder / STATE_FILE, json.dumps(asdict(state)), synced=False)


def read_state(folder: Path) -> EmulatedState | None:
    """The state of the board in `folder`, None where its process is gone or has not said anything yet."""
    state = _read(folder)
    return state if state is not None and is_held(folder) else None


def _read(folder: Path) -> EmulatedState | None:
    try:
        return EmulatedState(**json.loads((folder / STATE_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def running() -> list[tuple[Path, EmulatedState]]:
    """All running emulated boards, by folder name. Raises BrokenSetup."""
    root = runtime_dir()
    if not root.is_dir():
        return []
    found = []
    for folder in sorted(root.iterdir()):
        state = read_state(folder)
        if state is not None:
            found.append((folder, state))
    return found


class PortLinks:
    """`BOARD.port`, `BOARD.port2`, `BOARD.uart0` and so on, for the board in `folder`.

    A link exists as long as its port, like a name from udev. The next board with that name has the same links.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now: dict[str, str] = {}

    def path(self, what: str) -> Path:
        return self._folder.with_name(f"{self._folder.name}.{what}")

    def show(self, ports: Mapping[str, str | None]) -> None:
        """Link to these ports, by their kinds."""
        wanted = {what: port for what, port in ports.items() if port is not None}
        for what in self._now.keys() - wanted.keys():
            self.path(what).unlink(missing_ok=True)
        for what, port in wanted.items():
            if self._now.get(what) != port:
                replace_link(self.path(what), port)
        self._now = wanted

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.show({})


def links_in(root: Path) -> Iterator[tuple[Path, str]]:
    """Return the links to ports in `root`, with the names of their boards."""
    for link in root.iterdir():
        board, dot, _ = link.name.rpartition(".")
        if dot and link.is_symlink() and str(link.readlink()).startswith("/dev/"):
            yield link, board
