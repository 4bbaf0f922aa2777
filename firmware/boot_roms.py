"""The boot ROMs of the microcontrollers that emulated boards have."""

import os
from pathlib import Path

from portbench.errors import BoardUnavailable
from portbench.firmware import FOLDER_VARIABLE


def boot_rom(mcu: str = "RP2040") -> bytes:
    """Return the microcontroller's boot ROM, or ours without it; PORTBENCH_FIRMWARE_DIR may have it, too. Raises
    BoardUnavailable."""
    from portbench_engine import EngineError, bootrom

    folder = os.environ.get(FOLDER_VARIABLE)
    try:
        return bootrom(mcu, Path(folder) if folder else None)
    except EngineError as error:
        raise BoardUnavailable(str(error)) from error


def has_own_boot_rom(mcu: str) -> bool:
    """Return whether `boot_rom` has one of ours for the microcontroller."""
    from portbench_engine._native import own_bootrom

    return own_bootrom(mcu) is not None
