"""Temporary folders that go even where whoever made them was killed: the next one to make one removes them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import psutil

if sys.platform != "win32":
    import fcntl


class TemporaryFolder:
    """A folder of this process's own, `NAME-PID-RANDOM` in the temporary folder; `remove` may be called twice."""

    def __init__(self, name: str) -> None:
        remove_left_behind(name)
        self.path = Path(tempfile.mkdtemp(prefix=f"{name}-{os.getpid()}-"))
        # Held as long as the process lives: a process of another container, where numbers mean others, sees it too.
        self._handle: int | None = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._handle, fcntl.LOCK_SH)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def remove_left_behind(name: str) -> None:
    """What dead processes of this user have left under this name, and nothing else."""
    pattern = re.compile(re.escape(name) + r"-(\d+)-\w+")
    for folder in Path(tempfile.gettempdir()).glob(f"{name}-*"):
        found = pattern.fullmatch(folder.name)
        if found is not None and not psutil.pid_exists(int(found[1])) and _is_free(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_free(folder: Path) -> bool:
    """A folder, no link, of this user, that no process holds."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(handle).st_uid == os.getuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        finally:
            os.close(handle)
    return False
