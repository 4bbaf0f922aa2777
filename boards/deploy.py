"""Files on a board by its Python prompt: written where they differ, and proven by digests that the board takes."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from portbench.boards.prompt import ReplError
from portbench.boards.repl import Repl
from portbench.boards.timing import Deadline
from portbench.errors import BoardError

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
        raise BoardError(f"{repl.name}: files differ from those written: {'; '.join(bad)}")


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
"""Mounts the volume like the rp2 port's `_boot.py`, without time stamps: equal files then give equal flash contents.

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
