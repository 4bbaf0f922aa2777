"""Files to CircuitPython through its drive, and the proof through its REPL that they are what the board reads.

The prompt is held throughout: CircuitPython does not reload for changes on the drive while its REPL is open
(`supervisor`, auto-reload is suspended in the REPL), so nothing runs half-copied.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from portbench.boards.timing import Deadline
from portbench.boards.usb.digests import check_digests, device_digests
from portbench.boards.usb.link import Link
from portbench.boards.usb.repl import Repl
from portbench.boards.usb.volume import sync_folder, wait_volume, write_file
from portbench.errors import BoardError


def deploy(
    link: Link,
    repl: Repl,
    files: Mapping[str, bytes],
    deadline: Deadline,
    settle: Callable[[Deadline], None] | None = None,
) -> None:
    """Write what differs, one file at a time, and check it on the board. Raises BoardError.

    `settle` returns when the drive has what was written, where the system's own flush is not enough.
    """
    repl.enter(deadline)
    volume = wait_volume(link, "circuitpython", deadline)
    # The board's view decides: the PC's may come from its cache, and drives were found corrupt after a change of
    # runtime.
    there = device_digests(repl, files, deadline)
    for path, content in files.items():
        if there[path] == hashlib.sha256(content).hexdigest():
            continue
        target = volume / path
        try:
            for folder in reversed(PurePosixPath(path).parents[:-1]):
                (volume / folder).mkdir(exist_ok=True)
            write_file(target, content, deadline, f"{link.name} to take {path}")
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
