"""The ways into the boot loader from any state of a board, programming an image there, and finding the board again."""

import contextlib
import shutil
from contextlib import closing
from pathlib import Path

from portbench.boards.flashed import check_fits, check_started, usb_id
from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import UsbDevice, is_bootloader
from portbench.boards.usb.link import Link, run_program
from portbench.boards.usb.port import open_port
from portbench.boards.usb.volume import wait_volume, write_until_gone
from portbench.errors import BoardError, BoardGone, BoardUnavailable, DeadlineExceeded
from portbench.firmware.identify import Uf2File
from portbench.firmware.uf2_families import chip_name

ENTER = """
try:
    import microcontroller
except ImportError:
    import machine
    machine.bootloader()
else:
    mode = microcontroller.RunMode
    microcontroller.on_next_reset(getattr(mode, 'UF2', None) or mode.BOOTLOADER)
    microcontroller.reset()
"""
"""For both runtimes. CircuitPython before 7 calls the mode BOOTLOADER."""

_BACK_S = 40.0
"""The native client waits for 30 s for its network."""
_REPL_S = 12.0
_TOUCH_S = 5.0
_PICOTOOL_S = 10.0
_TOUCH_BAUD = 1200


def enter_bootloader(link: Link, deadline: Deadline) -> UsbDevice:
    """Return the board in its boot loader. Try the REPL, the 1200-baud touch, picotool and the power; then ask
    for BOOTSEL until the deadline. Raises DeadlineExceeded, with the attempts."""
    device = link.device() or _by_itself(link, deadline)
    if device is not None and is_bootloader(device, link.definition):
        return device
    tried = []
    for name, step in (
        ("REPL", _by_repl),
        ("1200-baud touch", _by_touch),
        ("picotool", _by_picotool),
        ("power", _by_power),
    ):
        try:
            found = step(link, deadline)
        except (BoardUnavailable, BoardGone):
            raise
        except BoardError as error:
            link.log(f"boot loader: {name}: {error}")
            found = None
        if found is not None:
            link.log(f"boot loader: by {name}")
            return found
        tried.append(name)
    return _by_person(link, deadline, tried)


def _by_itself(link: Link, deadline: Deadline) -> UsbDevice | None:
    """A board that is off the bus: the native client has no USB, and ends in the boot loader."""
    if link.power is not None:
        return None
    link.log(f"boot loader: {link.name} is off the bus; waiting for it to come back")
    part = deadline.part(_BACK_S, f"{link.name}: boot loader")
    try:
        return link.wait_device(lambda device: True, part, f"{link.name} to come back to the bus")
    except DeadlineExceeded as error:
        link.log(str(error))
        return None


def _wait(link: Link, deadline: Deadline) -> UsbDevice:
    waiting_for = f"{link.name} to show its boot loader"
    return link.wait_device(lambda device: is_bootloader(device, link.definition), deadline, waiting_for)


def _by_repl(link: Link, deadline: Deadline) -> UsbDevice | None:
    device = link.device()
    if device is None or device.port is None:
        return None
    part = deadline.part(_REPL_S, f"{link.name}: boot loader by REPL")
    with closing(link.open_repl(part)) as repl:
        repl.execute_and_lose(ENTER, part)
    return _wait(link, part)


def _by_touch(link: Link, deadline: Deadline) -> UsbDevice | None:
    """CircuitPython restarts into the boot loader when a port that was opened at 1200 baud is closed."""
    device = link.device()
    if device is None or device.port is None or "://" in device.port:
        return None
    part = deadline.part(_TOUCH_S, f"{link.name}: boot loader by 1200-baud touch")
    port = open_port(device.port, link.name, part, provider_pid=device.provider_pid)
    try:
        port.baudrate = _TOUCH_BAUD
        port.dtr = False
    except OSError as error:
        link.log(f"{device.port}: {error}")  # a pseudo-terminal has no DTR; its speed is enough
    finally:
        port.close()
    return _wait(link, part)


def _by_picotool(link: Link, deadline: Deadline) -> UsbDevice | None:
    """Works with firmware that has the SDK's reset interface, even when its REPL hangs."""
    device = link.device()
    picotool = shutil.which("picotool")
    if device is None or device.emulated or picotool is None or device.own_serial is None:
        return None
    part = deadline.part(_PICOTOOL_S, f"{link.name}: boot loader by picotool")
    command = [picotool, "reboot", "-f", "-u", "--ser", device.own_serial]
    done = run_program(command, part, "picotool")
    if done.returncode:
        raise BoardError(f"picotool: {' '.join((done.stderr or done.stdout).split())}")
    return _wait(link, part)


def _by_power(link: Link, deadline: Deadline) -> UsbDevice | None:
    if link.power is None:
        return None
    link.power.cycle(deadline, bootsel=True)
    return _wait(link, deadline)


def _by_person(link: Link, deadline: Deadline, tried: list[str]) -> UsbDevice:
    """Count down in the log while the user presses the button."""
    asked_at = float("inf")
    link.log(f"{link.name}: hold BOOTSEL while plugging it in, within {deadline.remaining:.0f} s")

    def look() -> UsbDevice | None:
        nonlocal asked_at
        left = deadline.remaining
        if link.ask_bootsel is not None and asked_at - left >= 1:
            asked_at = left
            link.ask_bootsel(left)
        device = link.device()
        return device if device is not None and is_bootloader(device, link.definition) else None

    try:
        return deadline.poll(look, link.poll_s, f"{link.name} in its boot loader")
    except DeadlineExceeded as error:
        raise DeadlineExceeded(
            f"{error}; tried: {', '.join(tried)}; hold BOOTSEL while plugging the board in, then run again"
        ) from None


_INTERRUPTED_S = 10.0
_GONE_S = 60.0
"""From the last byte of an image to the boot loader's end; erasing and programming 2 MiB takes under 20 s."""


def flash(link: Link, image: Uf2File, deadline: Deadline) -> None:
    """Program `image`, and return once the board has started it.

    Raises BoardError, or DeadlineExceeded that says which step was not over.
    """
    content, path = check_fits(link.name, link.definition, image), image.path
    if content.family_id != link.definition.uf2_family:
        link.log(f"flash: {path.name} is for the board's other cores: {chip_name(content.family_id)}")
    link.image_has_usb = False
    device = enter_bootloader(link, deadline)
    link.image_has_usb = usb_id(link.definition, image.identity) is not None
    if not _flash_by_picotool(link, device, path, deadline):
        _flash_by_volume(link, device, path.name, image.data, deadline)
    if link.image_has_usb:
        _wait_started(link, device, image, deadline)


def _flash_by_volume(link: Link, device: UsbDevice, name: str, content: bytes, deadline: Deadline) -> None:
    volume = wait_volume(link, "bootloader", deadline)
    link.log(f"flash: {name} to {volume}")

    def gone() -> bool:
        now = link.device()
        return now is None or not is_bootloader(now, link.definition) or now.enumeration != device.enumeration

    try:
        write_until_gone(volume / "firmware.uf2", content, deadline, f"{link.name} to take {name}")
        deadline.part(_GONE_S, f"{link.name}: flash {name}").poll(
            gone, link.poll_s, "the boot loader to start the image"
        )
    except OSError as error:
        raise BoardError(f"{link.name}: {volume} does not take {name}: {error.strerror or error}") from error
    except DeadlineExceeded as error:
        raise BoardError(f"{error}; the drive {volume} did not accept the image") from None
    except KeyboardInterrupt:
        # The image is on its way. The next flash would take the start of this one for its own.
        with contextlib.suppress(BoardError):
            deadline.part(_INTERRUPTED_S, name).poll(gone, link.poll_s, "the boot loader to start the image")
        raise


def _wait_started(link: Link, before: UsbDevice, image: Uf2File, deadline: Deadline) -> None:
    """Return once the runtime has enumerated."""
    device = link.wait_device(
        lambda device: device.port is not None or is_bootloader(device, link.definition),
        deadline,
        f"{link.name} to come back after {image.path.name} was programmed",
        after=before,
    )
    check_started(link.name, link.definition, image, device.usb_id)


def _flash_by_picotool(link: Link, device: UsbDevice, path: Path, deadline: Deadline) -> bool:
    """Program and verify with picotool, where it is installed and the device can be named to it."""
    picotool = shutil.which("picotool")
    if picotool is None or device.emulated or device.enumeration is None:
        return False
    bus, address = device.enumeration.split(":")
    command = [picotool, "load", "--verify", "--execute", str(path), "--bus", bus, "--address", address]
    done = run_program(command, deadline, f"picotool to program {path.name}")
    if done.returncode:
        # Most often access rights: the drive needs none.
        link.log(f"flash: picotool: {' '.join((done.stderr or done.stdout).split())}; using the drive instead")
        return False
    link.log(f"flash: {path.name} by picotool")
    return True
