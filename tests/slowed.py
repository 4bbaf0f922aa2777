"""An image that is the same but for a wait in front of one function: what a port maintainer's slip looks like."""

import struct
from pathlib import Path

from portbench.firmware import uf2

_SRAM = 0x2000_0000
_STUB = bytes.fromhex(
    "01b4"  # push {r0}
    "ff20"  # movs r0, #waits
    "0138"  # subs r0, #1
    "fdd1"  # bne to the line before
    "01bc"  # pop {r0}
    "03b4"  # push {r0, r1}
    "0148"  # ldr r0, the function
    "0190"  # str r0, [sp, #4]
    "01bd"  # pop {r0, pc}
    "0000"
)


def calls(image: uf2.Uf2Image) -> dict[int, int]:
    """Find the `bl` instructions: function by address of the call."""
    found = {}
    for base, content in image.ranges().items():
        for at in range(0, len(content) - 3, 2):
            first, second = struct.unpack_from("<HH", content, at)
            if first >> 11 == 0b11110 and second >> 14 == 0b11 and second & 0x1000:
                sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
                high = sign << 24 | (1 - (j1 ^ sign)) << 23 | (1 - (j2 ^ sign)) << 22
                offset = high | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
                target = base + at + 4 + offset - (sign << 25)
                if any(start <= target < start + len(code) for start, code in image.ranges().items()):
                    found[base + at] = target
    return found


def slowed(path: Path, to: Path, function: int, waits: int) -> Path:
    """The native client with a wait of about 3 * `waits` cycles in front of each call of the function at that address.

    It copies itself to SRAM and runs there (firmware/native/crt0.S): it is made to copy the wait behind its variables.
    """
    image = uf2.read(path)
    sites = [site for site, target in calls(image).items() if target == function]
    assert sites, f"nothing calls {function:#x}"
    end_word, source, variables_end = _copied(image)
    stub = source + variables_end - _SRAM
    code = bytearray(_STUB)
    code[2] = waits
    code += struct.pack("<I", _SRAM + function - source | 1)
    changes = {stub: bytes(code), end_word: struct.pack("<I", variables_end + len(code))}
    changes |= {site: _call(site, stub) for site in sites}
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(path.read_bytes())
    for address, data in changes.items():
        to.write_bytes(uf2.with_data(uf2.read(to), address, data))
    return to


def _copied(image: uf2.Uf2Image) -> tuple[int, int, int]:
    """Read the words of start-up: the address of the end of the copy in SRAM, the source of the copy, and the end
    of the variables, which begin behind the copy."""
    for base, content in image.ranges().items():
        for at in range(0, len(content) - 20, 4):
            start, end, source, variables, variables_end = struct.unpack_from("<5I", content, at)
            if start == _SRAM and end == variables > start and base <= source < base + len(content):
                return base + at + 4, source, variables_end
    raise AssertionError("this is not the native client")


def _call(site: int, target: int) -> bytes:
    """`bl target` at `site`, forwards and less than 4 MiB away."""
    offset = target - site - 4
    return struct.pack("<HH", 0xF000 | offset >> 12 & 0x3FF, 0xF800 | offset >> 1 & 0x7FF)
