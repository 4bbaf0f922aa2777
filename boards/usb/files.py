"""Files on a board: the user's saved, a client's written, and both proven by digests that the board takes."""

from __future__ import annotations

import ast
import errno
import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from portbench.boards.console import RESULT_PREFIX
from portbench.boards.prompt import ReplError
from portbench.boards.timing import Deadline
from portbench.boards.usb.link import Link, run_program
from portbench.boards.usb.repl import Repl
from portbench.boards.usb.volume import sync_folder, wait_volume, write_file
from portbench.errors import BoardError, BoardUnavailable, LibraryMissing

DEFINE_DIGEST = """
import hashlib
def portbench_digest(path):
    try:
        h = hashlib.sha256()
    except AttributeError:
        h = hashlib.new('sha256')
    b = bytearray(512)
    m = memoryview(b)
    with open(path, 'rb') as f:
        while True:
            n = f.readinto(b)
            if not n:
                return ''.join('%02x' % x for x in h.digest())
            h.update(m[:n])
"""

DEFINE_SIZE = """
import os
def portbench_size(path):
    try:
        return os.stat(path)[6]
    except OSError:
        return None
"""


def device_digests(repl: Repl, paths: Iterable[str], deadline: Deadline) -> dict[str, str | None]:
    """SHA-256 in hex of each file as the board reads it, None for a file that is not there.

    Where the board's Python has no SHA-256 (some CircuitPython builds), the whole file is read back instead.
    """
    repl.execute(DEFINE_SIZE, deadline, f"{repl.name} to prepare for checking files")
    try:
        repl.execute(DEFINE_DIGEST, deadline, f"{repl.name} to prepare for checking files")
        on_board = True
    except ReplError:
        on_board = False
    found: dict[str, str | None] = {}
    for path in paths:
        if repl.execute(f"print(portbench_size({path!r}))", deadline, f"the size of {path}").strip() == "None":
            found[path] = None
            continue
        if on_board:
            try:
                found[path] = repl.execute(
                    f"print(portbench_digest({path!r}))", deadline, f"the hash of {path}"
                ).strip()
                continue
            except ReplError as error:
                if "OSError" in error.traceback:
                    found[path] = f"unreadable ({error})"
                    continue
                on_board = False
        found[path] = hashlib.sha256(repl.read_file(path, deadline)).hexdigest()
    return found


def differing(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> dict[str, tuple[str | None, str]]:
    """The files that are not on the board as they have to be: the digest there, and the right one."""
    there = device_digests(repl, files, deadline)
    right = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    return {path: (there[path], right[path]) for path in files if there[path] != right[path]}


def check_digests(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Raise BoardError, which names each file, unless the board reads the written contents."""
    bad = []
    for path, (got, expected) in differing(repl, files, deadline).items():
        said = "is not there" if got is None else f"reads back as {got[:16]}, not {expected[:16]}"
        bad.append(f"{path} {said}")
    if bad:
        raise BoardError(f"{repl.name}: files are not what was written: {'; '.join(bad)}")


LIST_FILES = """
import os
def portbench_walk(folder):
    for name in os.listdir(folder or '/'):
        path = folder + '/' + name
        if os.stat(path)[0] & 0x4000:
            portbench_walk(path)
        else:
            print(repr(path[1:]))
portbench_walk('')
"""
_RESULT_LINE = f'print("{RESULT_PREFIX.strip()}"'.encode()
SYSTEM_FILES = frozenset({"boot_out.txt", "INFO_UF2.TXT", "INDEX.HTM"})
"""Written by the runtime or the boot loader, not by the user."""


def list_files(repl: Repl, deadline: Deadline) -> list[str]:
    """Paths of all files in the board's file system, relative to its root."""
    listing = repl.execute(LIST_FILES, deadline, f"{repl.name} to list its files")
    return [str(ast.literal_eval(line)) for line in listing.splitlines() if line.strip()]


def save_files(repl: Repl, folder: Path, deadline: Deadline) -> Path | None:
    """Copy the board's files to a new folder below `folder` and return it; None where there is nothing to save.

    Files that portbench put there are left out.
    """
    contents = {}
    for path in list_files(repl, deadline):
        if path.split("/")[0] in SYSTEM_FILES or path.startswith("."):
            continue
        content = repl.read_file(path, deadline)
        if not _is_ours(path, content):
            contents[path] = content
    if not contents:
        return None
    target = folder / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    for path, content in contents.items():
        copy = _below(target, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    return target


def _is_ours(path: str, content: bytes) -> bool:
    """Whether an earlier run's deployment left this file: its settings, or a script that prints a result line."""
    return path == "portbench_config.json" or (path in ("main.py", "code.py") and _RESULT_LINE in content)


def _below(folder: Path, path: str) -> Path:
    """Keep any name from the board below the folder."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        raise BoardError(f"the board has a file with the name {path!r}, which cannot be saved")
    return folder.joinpath(*parts)


REMOUNT_WITHOUT_TIMES = """
try:
    import vfs
except ImportError:
    import os as vfs
import rp2
f = vfs.VfsLfs2(rp2.Flash(), progsize=256, mtime=False)
vfs.umount('/')
vfs.mount(f, '/')
"""
"""As the rp2 port's `_boot.py` mounts it, but files get no time stamps: equal files then give equal flash contents.

Before MicroPython 1.22 the functions are in `os`. Until the next soft reset; where it fails nothing has changed.
"""

MAKE_FOLDER = """
import os
try:
    os.mkdir({0!r})
except OSError:
    os.listdir({0!r})
"""


def deploy_mpremote(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Write the files that differ. Raises BoardError."""
    try:
        remount_without_times(repl, deadline)
        for path in differing(repl, files, deadline):
            make_folders(repl, path, deadline)
            repl.write_file(path, files[path], deadline)
    except ReplError as error:
        raise BoardError(f"{error} (while copying files)") from error
    except OSError as error:  # mpremote's word for the board's OSError
        raise BoardError(f"{repl.name}: its file system refused {path}: {error.strerror or error}") from error


def remount_without_times(repl: Repl, deadline: Deadline) -> None:
    try:
        repl.execute(REMOUNT_WITHOUT_TIMES, deadline, f"{repl.name} to remount its file system")
    except ReplError:
        return  # another file system, or none: files get their times


def make_folders(repl: Repl, path: str, deadline: Deadline) -> None:
    for folder in reversed(PurePosixPath(path).parents[:-1]):
        repl.execute(MAKE_FOLDER.format(str(folder)), deadline, f"{repl.name} to make {folder}")


_SCRIPT = "commands"


def deploy_rshell(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Close `repl`, whose port rshell needs, and copy all files. Raises BoardError and LibraryMissing."""
    if "://" in repl.port:
        raise BoardUnavailable(f"{repl.port}: rshell knows no network ports; use --deploy mpremote")
    LibraryMissing.unless_found("rshell", "rshell", "--deploy rshell")
    repl.close()
    copy_with_rshell(repl.port, repl.name, files, deadline)


def copy_with_rshell(port: str, name: str, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Copy all files through the free `port`. Raises BoardError."""
    with tempfile.TemporaryDirectory(prefix="portbench-rshell-") as folder:
        script = Path(folder, _SCRIPT)
        script.write_text("\n".join(_rshell_commands(Path(folder), files)) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "rshell.main", "--quiet", "--nocolor", "-p", port, "-f", str(script)]
        done = run_program(command, deadline, f"rshell to copy {len(files)} files to {name}")
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    unable = [line for line in said if "Unable to" in line and "Unable to create" not in line]
    if done.returncode or unable:
        last = (unable or said or ["no message"])[0]
        raise BoardError(f"{name}: rshell (status {done.returncode}): {last}")


def _rshell_commands(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """The commands of the script. rshell calls the board /pyboard.

    Its mkdir fails if a folder exists, which does no harm. Its exit status is always 0; its output tells of errors.
    """
    commands = []
    made = set()
    for number, (path, content) in enumerate(files.items()):
        local = folder / f"{number}"
        local.write_bytes(content)
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            if parent not in made:
                made.add(parent)
                commands.append(f"mkdir /pyboard/{parent}")
        commands.append(f"cp {local} /pyboard/{path}")
    return commands


def deploy_circuitpython(
    link: Link,
    repl: Repl,
    files: Mapping[str, bytes],
    deadline: Deadline,
    settle: Callable[[Deadline], None] | None = None,
) -> None:
    """Write what differs to CircuitPython's drive, one file at a time, and check it on the board. Raises BoardError.

    `settle` returns when the drive has what was written, where the system's own flush is not enough.

    The prompt is held throughout: CircuitPython does not reload for changes on the drive while its REPL is open
    (`supervisor`, auto-reload is suspended in the REPL), so nothing runs half-copied.
    """
    repl.enter(deadline)
    volume = wait_volume(link, "circuitpython", deadline)
    # The board's view decides: the PC's may come from its cache, and drives were found corrupt after a change of
    # runtime.
    for path in differing(repl, files, deadline):
        target = volume / path
        try:
            for folder in reversed(PurePosixPath(path).parents[:-1]):
                (volume / folder).mkdir(exist_ok=True)
            write_file(target, files[path], deadline, f"{link.name} to take {path}")
            sync_folder(target.parent)
        except OSError as error:
            raise BoardError(f"{link.name}: {_reason(error, volume, path)}") from error
        if settle is not None:
            settle(deadline)
    check_digests(repl, files, deadline)


def _reason(error: OSError, volume: Path, path: str) -> str:
    if error.errno == errno.EROFS:
        return f"{volume} is read-only: its file system is damaged or boot.py took it; reset the board"
    if error.errno == errno.ENOSPC:
        return f"{volume} is full at {path}; remove files from it"
    return f"{path} cannot be written to {volume}: {error.strerror or error}"
