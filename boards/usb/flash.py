"""Programming an image through the boot loader, and finding the board again under what it became."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from portbench.boards.definition import UsbId
from portbench.boards.timing import Deadline
from portbench.boards.usb.bootloader import enter_bootloader
from portbench.boards.usb.bus import UsbDevice, is_bootloader
from portbench.boards.usb.link import Link
from portbench.boards.usb.volume import wait_volume, write_until_gone
from portbench.errors import BoardError, DeadlineExceeded
from portbench.firmware import uf2
from portbench.firmware.identify import Identity, Uf2File

_GONE_S = 60.0
"""From the last byte of an image to the boot loader's end; erasing and programming 2 MiB takes under 20 s."""


def flash(link: Link, image: Uf2File, deadline: Deadline) -> Identity:
    """Program `image` and return its identity, once the board has started it.

    Raises BoardError, or DeadlineExceeded that says which step was not over.
    """
    try:
        image.check_fits(link.definition.uf2_family, link.definition.flash_bytes)
    except uf2.Uf2Error as error:
        raise BoardError(f"{link.name}: {error}") from error
    identity, path = image.identity, image.path
    link.image_has_usb = False
    device = enter_bootloader(link, deadline)
    link.image_has_usb = _usb_id(link, identity) is not None
    if not _by_picotool(link, device, path, deadline):
        _by_volume(link, device, path.name, image.data, deadline)
    _wait_started(link, device, identity, path.name, deadline)
    return identity


def _by_volume(link: Link, device: UsbDevice, name: str, content: bytes, deadline: Deadline) -> None:
    volume = wait_volume(link, "bootloader", deadline)
    link.log(f"flash: {name} to {volume}")
    try:
        write_until_gone(volume / "firmware.uf2", content, deadline, f"{link.name} to take {name}")
    except OSError as error:
        raise BoardError(f"{link.name}: {volume} does not take {name}: {error.strerror or error}") from error
    part = deadline.part(_GONE_S, f"{link.name}: flash {name}")

    def gone() -> bool:
        now = link.device()
        return now is None or not is_bootloader(now, link.definition) or now.enumeration != device.enumeration

    try:
        part.poll(gone, link.poll_s, "the boot loader to start the image")
    except DeadlineExceeded as error:
        raise BoardError(f"{error}; the drive {volume} did not accept the image") from None


def _wait_started(link: Link, before: UsbDevice, identity: Identity, name: str, deadline: Deadline) -> None:
    """Return once the runtime has enumerated, or at once for an image without USB."""
    expected = _usb_id(link, identity)
    if expected is None:
        return
    device = link.wait_device(
        lambda device: device.port is not None or is_bootloader(device, link.definition),
        deadline,
        f"{link.name} to come back after {name} was programmed",
        after=before,
    )
    if is_bootloader(device, link.definition):
        raise BoardError(f"{link.name}: after {name} was programmed the boot loader came back, not {identity.family}")
    if device.usb_id != expected:
        raise BoardError(
            f"{link.name}: {name} is {identity.family} and should be USB {expected}, but {device.usb_id} came back"
        )


def _usb_id(link: Link, identity: Identity) -> UsbId | None:
    """Return the image's device on USB; None for an image without USB."""
    ids = link.definition.usb
    known = {"micropython": ids.micropython, "wiznet": ids.micropython, "circuitpython": ids.circuitpython}
    return known.get(str(identity.family))


def _by_picotool(link: Link, device: UsbDevice, path: Path, deadline: Deadline) -> bool:
    """Program and verify with picotool, where it is installed and the device can be named to it."""
    picotool = shutil.which("picotool")
    if picotool is None or device.emulated or device.enumeration is None:
        return False
    bus, address = device.enumeration.split(":")
    command = [picotool, "load", "--verify", "--execute", str(path), "--bus", bus, "--address", address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline.remaining, check=False)
    except subprocess.TimeoutExpired:
        raise deadline.exceeded(f"picotool to program {path.name}") from None
    if done.returncode:
        # Most often access rights: the drive needs none.
        link.log(f"flash: picotool: {' '.join((done.stderr or done.stdout).split())}; using the drive instead")
        return False
    link.log(f"flash: {path.name} by picotool")
    return True
