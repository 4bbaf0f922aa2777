"""Images that stop at their start, each in another way; a row of one has to say which.

They are assembled here, since other people's images may not be passed on.
"""

import struct
from enum import StrEnum
from pathlib import Path
from typing import Final

from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import NATIVE_PROGRAM
from portbench.workloads import ping_pong

_NATIVE_IMAGE: Final = Path(ping_pong.__file__).with_name("native.uf2")

BOOT2_BYTES: Final = 256
PROGRAM: Final = uf2.FLASH_BASE + 0x200
"""Start of the program; its vector table is before it."""
HANDLER: Final = uf2.FLASH_BASE + 0x280
_SAYS = uf2.FLASH_BASE + 0x300
_STACK = 0x2004_0000
_VECTORS = 48
_BKPT = 0xBE00


class DeadImage(StrEnum):
    """The behaviour of the image."""

    STANDS_STILL = "stands-still"
    LOCKS_UP = "locks-up"
    RESETS = "resets"


PROGRAMS: Final[dict[DeadImage, tuple[int, ...]]] = {
    DeadImage.STANDS_STILL: (0xE7FE,),  # B .
    DeadImage.LOCKS_UP: (_BKPT,),  # and again in its handler
    # AIRCR: VECTKEY and SYSRESETREQ
    DeadImage.RESETS: (0x4801, 0x4902, 0x6001, 0xE7FE, 0xED0C, 0xE000, 0x0004, 0x05FA),
}

_BANNERS: Final[dict[Family, bytes]] = {
    Family.NATIVE: NATIVE_PROGRAM,
    Family.MICROPYTHON: b"\0MicroPython v%s on 2025-08-09\0; W5500-EVB-Pico with RP2040\0",
    Family.WIZNET: b"\0MicroPython v%s on 2025-08-09\0; W5500-EVB-Pico with RP2040\0WIZNET5K_PROVIDED_STACK\0",
    Family.CIRCUITPYTHON: b"\0Adafruit CircuitPython %s on 2024-10-09; W5500-EVB-Pico with rp2040\0",
}


def banner(family: Family, version: str = "1.26.0") -> bytes:
    """The text in an image of `family` that tells its name and version."""
    return _BANNERS[family].replace(b"%s", version.encode())


def build(program: tuple[int, ...], says: bytes) -> bytes:
    """A UF2 of our boot stage 2, a vector table, `program` (halfwords), a handler that faults again, and a text."""
    boot2 = next(iter(uf2.read(_NATIVE_IMAGE).ranges().values()))[:BOOT2_BYTES]
    vectors = struct.pack(f"<{_VECTORS}I", _STACK, PROGRAM | 1, *([HANDLER | 1] * (_VECTORS - 2)))
    content = (boot2 + vectors).ljust(PROGRAM - uf2.FLASH_BASE, b"\xff")
    content += struct.pack(f"<{len(program)}H", *program)
    content = content.ljust(HANDLER - uf2.FLASH_BASE, b"\xff") + struct.pack("<H", _BKPT)
    content = content.ljust(_SAYS - uf2.FLASH_BASE, b"\xff") + says.ljust(256, b"\0")
    return uf2.build(content)


def write(path: Path, dead: DeadImage, family: Family, version: str) -> None:
    path.write_bytes(build(PROGRAMS[dead], banner(family, version)))
