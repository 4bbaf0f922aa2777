"""The things that all steps on one board share: its place, its power, its log, and its lock against other processes.

The operating system frees a lock when its process ends.
"""

import contextlib
import logging
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import platformdirs

from portbench.boards.definition import BoardDefinition
from portbench.boards.repl import Repl
from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import Target, UsbDevice, is_bootloader
from portbench.boards.usb.port import SerialWire, open_port
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
    """Return a name that is the same for all programs on the board, where the system reports the board's place."""
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


LOG = logging.getLogger("portbench.usb")


def run_program(command: list[str], deadline: Deadline, waiting_for: str) -> subprocess.CompletedProcess[str]:
    """Run a program of this PC to its end, whatever its status. Raises DeadlineExceeded."""
    left_s = deadline.remaining
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=left_s, check=False)
    except subprocess.TimeoutExpired:
        raise deadline.exceeded(waiting_for) from None


class Power(Protocol):
    """Control of the board's power and BOOTSEL button."""

    def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
        """Power off and on. `measured`: for a run whose times count."""
        ...


@dataclass
class Link:
    """`watch` is called while waiting and may raise what it knows of the board. `log` gets one line per step.

    `ask_bootsel` is called about once a second with the seconds left, while a person is to press BOOTSEL.
    """

    definition: BoardDefinition
    name: str
    target: Target
    power: Power | None = None
    watch: Callable[[], None] | None = None
    ask_bootsel: Callable[[float], None] | None = None
    poll_s: float = 0.1
    log: Callable[[str], None] = field(default=LOG.info)
    image_has_usb: bool = False
    """True where the last flashed image shows up on USB."""

    def device(self) -> UsbDevice | None:
        if self.watch is not None:
            self.watch()
        return self.target.find()

    def wait_device(
        self, wanted: Callable[[UsbDevice], bool], deadline: Deadline, waiting_for: str, after: UsbDevice | None = None
    ) -> UsbDevice:
        """The board once it is as `wanted`; `after`: and has enumerated anew since it was that."""

        def look() -> UsbDevice | None:
            device = self.device()
            if device is None or not wanted(device):
                return None
            if after is not None and device.enumeration is not None and device.enumeration == after.enumeration:
                return None
            return device

        return deadline.poll(look, self.poll_s, waiting_for)

    def wait_port(self, deadline: Deadline, after: UsbDevice | None = None) -> UsbDevice:
        return self.wait_device(
            lambda device: device.port is not None and not is_bootloader(device, self.definition),
            deadline,
            f"{self.name} to show its serial port",
            after,
        )

    def open_repl(self, deadline: Deadline, after: UsbDevice | None = None, *, keep_input: bool = False) -> Repl:
        """A session on the board's port, once it has one."""
        device = self.wait_port(deadline, after)
        assert device.port is not None
        port = open_port(device.port, self.name, deadline, provider_pid=device.provider_pid, keep_input=keep_input)
        return Repl(SerialWire(port, self.name, self.watch), self.name)
