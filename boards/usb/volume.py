"""A board's drive: found, mounted where need be, proven by its own words to be the board's, and written to.

Those words are in INFO_UF2.TXT of the boot loader and in boot_out.txt of CircuitPython.
"""

import contextlib
import os
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from portbench.boards.timing import Deadline
from portbench.boards.usb.link import Link, run_program
from portbench.errors import BoardError, BoardUnavailable

INFO_UF2 = "INFO_UF2.TXT"
BOOT_OUT = "boot_out.txt"
_MOST_BYTES = 4096

Kind = Literal["bootloader", "circuitpython"]


@dataclass(frozen=True)
class VolumeInfo:
    """`version`: the boot loader's or CircuitPython's. `machine` and `uid`: CircuitPython's, None if not reported."""

    kind: Kind
    board_id: str
    version: str | None
    machine: str | None = None
    uid: str | None = None


def read_volume_info(volume: Path) -> VolumeInfo | None:
    """Identify the drive mounted at `volume`; None if it is not a board's, or gone."""
    text = _read(volume / INFO_UF2)
    if text is not None:
        return parse_info_uf2(text)
    text = _read(volume / BOOT_OUT)
    return None if text is None else parse_boot_out(text)


def parse_info_uf2(text: str) -> VolumeInfo | None:
    """INFO_UF2.TXT as the UF2 specification has it; RP2040 datasheet section 2.8.4.1."""
    board_id = re.search(r"^Board-ID: *(\S+)", text, re.MULTILINE)
    version = re.search(r"^UF2 Bootloader v(\S+)", text, re.MULTILINE)
    return VolumeInfo("bootloader", board_id[1], version[1] if version else None) if board_id else None


def parse_boot_out(text: str) -> VolumeInfo | None:
    """boot_out.txt as CircuitPython writes it (`main.c`): the banner, `Board ID:`, `UID:`."""
    banner = re.search(r"CircuitPython (\S+) on \d{4}-\d\d-\d\d; ([^\r\n]+)", text)
    board_id = re.search(r"^Board ID: *(\S+)", text, re.MULTILINE)
    uid = re.search(r"^UID: *([0-9A-Fa-f]+)", text, re.MULTILINE)
    if not board_id:
        return None
    return VolumeInfo(
        "circuitpython",
        board_id[1],
        banner[1] if banner else None,
        banner[2].strip() if banner else None,
        uid[1] if uid else None,
    )


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


_DESKTOP_S = 3.0
"""Time for a desktop to mount a drive by itself before we do."""
_CHUNK_BYTES = 1 << 16


def wait_volume(link: Link, kind: Kind, deadline: Deadline) -> Path:
    """The mounted drive of the board's boot loader or CircuitPython, proven to be its own.

    Mounts it with udisks where no desktop does (Linux). Raises BoardError for anything else at its place.
    """
    desktop = deadline.part(_DESKTOP_S, deadline.what)
    drive = "its boot loader's drive" if kind == "bootloader" else "its CIRCUITPY drive"

    def look() -> Path | None:
        device = link.device()
        if device is None:
            return None
        if device.volume is None:
            if desktop.expired and device.block_device is not None:
                _mount(device.block_device, link.name, deadline)
            return None
        info = read_volume_info(device.volume)
        if info is None:
            return None
        check_own(info, kind, link, device.volume)
        return device.volume

    return deadline.poll(look, link.poll_s, f"{link.name} to show {drive}")


def check_own(info: VolumeInfo, kind: Kind, link: Link, volume: Path) -> None:
    """Raise BoardError unless `info` is what this board's drive says of itself."""
    definition = link.definition
    wanted = definition.volumes.bootloader_board_id if kind == "bootloader" else definition.circuitpython_id
    if info.kind != kind or info.board_id != wanted:
        raise BoardError(
            f"{link.name}: {volume} says it is {info.board_id} ({info.kind}), not {wanted}; not written to"
        )
    known = link.target.known
    if info.uid and known is not None and known.own_serial and info.uid.upper() != known.own_serial:
        raise BoardError(f"{link.name}: {volume} is of board {info.uid}, not {known.own_serial}; not written to")


def _mount(node: str, name: str, deadline: Deadline) -> None:
    udisksctl = shutil.which("udisksctl")
    if udisksctl is None:
        raise BoardUnavailable(
            f"{name}: its drive {node} is not mounted and udisksctl is not installed; install udisks2 or mount it"
        )
    command = [udisksctl, "mount", "--no-user-interaction", "--block-device", node]
    done = run_program(command, deadline, f"udisksctl to mount {node}")
    if done.returncode and "AlreadyMounted" not in done.stderr:
        raise BoardUnavailable(f"{name}: {node} cannot be mounted: {' '.join(done.stderr.split())}")


def write_file(path: Path, content: bytes, deadline: Deadline, what: str) -> None:
    """Write and flush to the medium. A stuck drive ends at the deadline. Raises OSError."""

    def write() -> None:
        with path.open("wb", buffering=0) as file:
            for start in range(0, len(content), _CHUNK_BYTES):
                piece = memoryview(content)[start : start + _CHUNK_BYTES]
                while piece:
                    piece = piece[file.write(piece) :]
            os.fsync(file.fileno())

    _within(write, deadline, what)


def write_until_gone(path: Path, content: bytes, deadline: Deadline, what: str) -> None:
    """Write a UF2 image to the boot loader's drive, which goes away when it has it all, often before we have finished.

    Whether the image has arrived shows in what the board does next. Raises OSError while the drive is still there.
    """
    try:
        write_file(path, content, deadline, what)
    except OSError:
        if read_volume_info(path.parent) is not None:
            raise


def _within(action: Callable[[], None], deadline: Deadline, what: str) -> None:
    """Runs `action` in a thread: a write to a broken drive may never return."""
    fault: list[OSError] = []

    def guarded() -> None:
        try:
            action()
        except OSError as error:
            fault.append(error)

    thread = threading.Thread(target=guarded, name=what, daemon=True)
    thread.start()
    thread.join(deadline.remaining)
    if thread.is_alive():
        raise deadline.exceeded(what)
    if fault:
        raise fault[0]


def sync_folder(path: Path) -> None:
    """Flush a folder's entries, where the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
