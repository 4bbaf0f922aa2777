"""Files to MicroPython through its REPL, with mpremote's transport."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from portbench.boards.prompt import ReplError
from portbench.boards.timing import Deadline
from portbench.boards.usb.digests import device_digests
from portbench.boards.usb.repl import Repl
from portbench.errors import BoardError

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


def deploy(repl: Repl, files: Mapping[str, bytes], deadline: Deadline) -> None:
    """Write the files that differ. Raises BoardError."""
    try:
        remount_without_times(repl, deadline)
        there = device_digests(repl, files, deadline)
        for path, content in files.items():
            if there[path] != hashlib.sha256(content).hexdigest():
                make_folders(repl, path, deadline)
                repl.write_file(path, content, deadline)
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
