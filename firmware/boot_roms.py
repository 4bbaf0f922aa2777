"""The boot ROMs of the microcontrollers that emulated boards have."""

from __future__ import annotations

import os
from pathlib import Path

from portbench.errors import BoardUnavailable
from portbench.firmware.images import FOLDER_VARIABLE


def boot_rom(mcu: str = "RP2040") -> bytes:
    """Return the chip's own boot ROM; PORTBENCH_FIRMWARE_DIR may have it, too. Raises BoardUnavailable."""
    from portbench_engine import EngineError
    from portbench_engine.boot_rom import chips_bootrom

    folder = os.environ.get(FOLDER_VARIABLE)
    try:
        return chips_bootrom(mcu, Path(folder) if folder else None)
    except EngineError as error:
        raise BoardUnavailable(str(error)) from error
