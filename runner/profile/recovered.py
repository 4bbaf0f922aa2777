"""Functions of an image without a symbol table."""

import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portbench.firmware.uf2 import FLASH_BASE

BYTECODE_LOOP: Final = "mp_execute_bytecode"
_OPCODES: Final = 256
_MULTI: Final = ((0x70, 0xB0), (0xB0, 0xC0), (0xC0, 0xD0))
"""Opcode ranges with one common target each in MicroPython's entry_table: LOAD_CONST_SMALL_INT_MULTI,
LOAD_FAST_MULTI and STORE_FAST_MULTI (py/bc0.h, the same since 1.12)."""
_LARGEST: Final = 0x4000
_AES_BOX: Final = bytes.fromhex("637c777bf26b6fc53001672bfed7ab76")
_GCM_REST: Final = struct.pack("<4H", 0x0000, 0x1C20, 0x3840, 0x2460)
_SHA256_K: Final = struct.pack("<4I", 0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5)
_SHA512_K: Final = struct.pack("<2Q", 0x428A2F98D728AE22, 0x7137449123EF65CD)
"""The first bytes of tables of mbedTLS's aes.c, gcm.c, sha256.c and sha512.c."""
_LIBRARY_MOST: Final = 0x20000
_PUSH_LR: Final = 0xB5
_WIDE_PUSH: Final = 0xE92D
_CALLERS: Final = 2


@dataclass(frozen=True)
class BytecodeLoop:
    """MicroPython's and CircuitPython's interpreter loop, by its table of jumps at `table`."""

    table: int
    start: int
    """The lowest target of an opcode; `end` is the highest."""
    end: int


def bytecode_loop(flash: bytes) -> BytecodeLoop | None:
    """The loop of an image with computed gotos (MICROPY_OPT_COMPUTED_GOTO); None if it has no such table, or two."""
    count = len(flash) // 4
    words = struct.unpack(f"<{count}I", flash[: 4 * count])
    found = []
    at = _MULTI[0][0]
    while at + _OPCODES - _MULTI[0][0] <= count:
        # 64 equal words that are code addresses are rare: only there, check the whole table.
        word = words[at]
        if word >> 28 not in (1, 2) or words[at + 63] != word:
            at += 1
            continue
        table = words[at - _MULTI[0][0] : at - _MULTI[0][0] + _OPCODES]
        if _is_entry_table(table):
            found.append(BytecodeLoop(FLASH_BASE + 4 * (at - _MULTI[0][0]), min(table), max(table)))
        at += 1
    return found[0] if len(found) == 1 else None


def call_targets(code: bytes, base: int) -> list[int]:
    """Starts of functions in a memory at `base`: targets of its BL instructions.

    A target must be a PUSH with LR or a wide one, or be called more than once, since data among the code may look like
    a call.
    """
    halfwords = struct.unpack(f"<{len(code) // 2}H", code[: len(code) // 2 * 2])
    callers: Counter[int] = Counter()
    for at, high in enumerate(halfwords[:-1]):
        low = halfwords[at + 1]
        if high & 0xF800 != 0xF000 or low & 0xD000 != 0xD000:
            continue
        sign = high >> 10 & 1
        j1, j2 = 1 - (low >> 13 & 1 ^ sign), 1 - (low >> 11 & 1 ^ sign)
        offset = (sign << 24 | j1 << 23 | j2 << 22 | (high & 0x3FF) << 12 | (low & 0x7FF) << 1) - (sign << 25)
        target = 2 * at + 4 + offset
        if 0 <= target < 2 * len(halfwords):
            callers[target] += 1
    return sorted(
        base + target
        for target, count in callers.items()
        if halfwords[target // 2] >> 8 == _PUSH_LR or halfwords[target // 2] == _WIDE_PUSH or count >= _CALLERS
    )


@dataclass(frozen=True)
class Region:
    """Code from `start` to before `end`."""

    start: int
    end: int
    name: str


def mbedtls_regions(flash: bytes) -> list[Region]:
    """The parts of mbedTLS, by the functions that refer to its tables, in order; none if they are not in its order.

    A build without link-time optimisation links the library's files by name: between aes.c and gcm.c are those of big
    numbers and curves (bignum, ecdh, ecdsa, ecp), with some small others.
    """
    if any(table not in flash for table in (_AES_BOX, _GCM_REST, _SHA512_K)):
        return []
    starts = call_targets(flash, FLASH_BASE)
    words = struct.unpack(f"<{len(flash) // 4}I", flash[: len(flash) // 4 * 4])
    aes, gcm, sha256, sha512 = (
        _functions_with(flash, words, table, starts) for table in (_AES_BOX, _GCM_REST, _SHA256_K, _SHA512_K)
    )
    if not aes or not gcm or not sha512 or not aes[-1][1] < gcm[0][0] < sha512[0][0] < aes[0][0] + _LIBRARY_MOST:
        return []
    regions = [
        Region(aes[0][0], aes[-1][1], "mbedtls_aes_ (by its S-box)"),
        Region(aes[-1][1], gcm[0][0], "mbedtls_mpi_ and mbedtls_ecp_ (between AES and GCM)"),
        Region(*gcm[0], "mbedtls_gcm_ (by its table)"),
    ]
    hashes = [(*each, "mbedtls_sha256_ (by its table)") for each in sha256]
    hashes += [(*each, "mbedtls_sha512_ (by its table)") for each in sha512]
    return regions + [Region(*each) for each in hashes if gcm[0][1] <= each[0]]


def _functions_with(flash: bytes, words: Sequence[int], table: bytes, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Start and end of each function that has the address of a copy of `table` among its constants."""
    copies = set()
    at = flash.find(table)
    while at >= 0:
        copies.add(FLASH_BASE + at)
        at = flash.find(table, at + 1)
    places = [bisect_right(starts, FLASH_BASE + 4 * number) for number, word in enumerate(words) if word in copies]
    return [(starts[place - 1], starts[place]) for place in sorted(set(places)) if 0 < place < len(starts)]


def _is_entry_table(table: Sequence[int]) -> bool:
    if len(table) < _OPCODES or any(word & 1 or word >> 28 not in (1, 2) for word in table):
        return False
    places = [set(table[first:last]) for first, last in _MULTI]
    if any(len(place) != 1 for place in places) or len(set.union(*places)) != len(_MULTI):
        return False
    return max(table) - min(table) < _LARGEST
