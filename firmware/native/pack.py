"""Makes the UF2 image of the native firmware of its linked parts: `pack.py [--boot2 boot2.bin] native.bin output.uf2`.

The RP2350's bootrom starts a program without a second stage. The RP2040's accepts one whose last 4 of 256 bytes are the
CRC-32 of the others (RP2040 datasheet, section 2.8.1.3.1): polynomial 0x04C11DB7, start value 0xFFFFFFFF, neither
reflected nor inverted. The record beside the image (`.json`) names the compiler and the image's SHA-256, so that a test
knows when a rebuild must give the same bytes.
"""

import argparse
import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from portbench.firmware import uf2, uf2_families

BOOT2_BYTES: Final = 252
CONFIG_OFFSET: Final = 0x1FF000  # of the configuration sector, which the program must not reach


def boot2_crc(data: bytes) -> int:
    """CRC-32 as the RP2040's bootrom computes it over the second stage."""
    crc = 0xFFFF_FFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C1_1DB7 if crc & 0x8000_0000 else 0)) & 0xFFFF_FFFF
    return crc


def checked(program: bytes, offset: int) -> bytes:
    """The program, which begins at `offset` of flash. Raises `ValueError` when it is empty or too large."""
    if not 0 < len(program) <= CONFIG_OFFSET - offset:
        raise ValueError(f"the program has {len(program)} bytes, not 1 to {CONFIG_OFFSET - offset}")
    return program


def flash_image(boot2: bytes, program: bytes) -> bytes:
    """Flash content from its start: second stage with checksum, then the program from offset 256.

    Raises `ValueError` when a part is empty or too large.
    """
    if not 0 < len(boot2) <= BOOT2_BYTES:
        raise ValueError(f"boot2 has {len(boot2)} bytes, not 1 to {BOOT2_BYTES}")
    padded = boot2.ljust(BOOT2_BYTES, b"\0")
    return padded + struct.pack("<I", boot2_crc(padded)) + checked(program, 256)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--compiler", required=True, help="first line of the compiler's --version")
    parser.add_argument("--boot2", type=Path, help="an RP2040's second stage; without one the image is for an RP2350")
    parser.add_argument("program", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    program = arguments.program.read_bytes()
    if arguments.boot2 is None:
        packed = uf2.build(checked(program, 0), family_id=uf2_families.RP2350)
    else:
        packed = uf2.build(flash_image(arguments.boot2.read_bytes(), program))
    arguments.output.write_bytes(packed)
    record = {"compiler": arguments.compiler, "sha256": hashlib.sha256(packed).hexdigest()}
    arguments.output.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
