"""One process per board. The operating system frees a lock when its process ends."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import platformdirs

from portbench.boards.usb.bus import UsbDevice
from portbench.errors import BoardUnavailable
from portbench.files import lock

LOCK_DIR_VARIABLE = "PORTBENCH_LOCK_DIR"


def lock_dir() -> Path:
    """`PORTBENCH_LOCK_DIR`, else a folder of this user's cache."""
    named = os.environ.get(LOCK_DIR_VARIABLE)
    if named:
        return Path(named)
    return Path(platformdirs.user_cache_dir("portbench")) / "locks"


def lock_name(device: UsbDevice) -> str:
    """Return a name that is the same for all programs on the board, where the system tells the board's place."""
    key = device.location or device.own_serial or device.port or "board"
    return re.sub(r"[^A-Za-z0-9._-]+", "_", key).strip("_")


def lock_path(device: UsbDevice) -> Path:
    """Lock files stay where they are, as removing one would let two processes lock two files of one name.

    A real board's place has one for ever; an emulated board's goes with the board's folder.
    """
    if device.emulated and device.location is not None:
        return Path(device.location.partition(":")[2]) / "in-use.lock"
    return lock_dir() / f"{lock_name(device)}.lock"


class BoardLock:
    """Held from construction to `release`. Raises BoardUnavailable, which names the process that has the board."""

    def __init__(self, device: UsbDevice, name: str) -> None:
        path = lock_path(device)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._owner = path.with_suffix(".pid")
        self._lock = lock(path, BoardUnavailable(f"{name}: in use by another portbench (process {self._pid()})"))
        self._owner.write_text(str(os.getpid()), encoding="ascii")

    def release(self) -> None:
        """May be called twice."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._owner.unlink()
            self._lock.release()

    def _pid(self) -> str:
        with contextlib.suppress(OSError):
            return self._owner.read_text(encoding="ascii").strip() or "unknown"
        return "unknown"
