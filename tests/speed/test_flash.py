"""Guests that map or program flash all the time, each beside one that does as much without a change of flash.

They run in the SRAM of an RP2350. Its 16 MiB of flash have no two equal pages.
"""

import struct
from collections.abc import Callable
from typing import Final

import pytest

from portbench.boards import board_definition
from tests.boards.emulated import guests
from tests.speed.guest import quickest_s, timed

pytestmark = pytest.mark.engine
PICO2: Final = board_definition("RPI_PICO2")
FLASH_BYTES: Final = 16 << 20
_QMI: Final = 0x400D_0000
_OTHER, _ATRANS0 = _QMI + 0x20, _QMI + 0x34
_RESETS_CLEAR: Final = 0x4002_3000
_BLOCK: Final = (0xFFFF_DED3, 0x1021_0142, 0x0000_01FF, 0, 0xAB12_3579)
_TO_SRAM: Final = (
    *(0x2020, 0x0600),  # MOVS R0, #0x20; LSLS R0, #24
    *(0xA104, 0x4603, 0x22FF),  # ADR R1, the rest; MOV R3, R0; MOVS R2, #255
    *(0xC910, 0xC310, 0x3A01, 0xD1FB),  # LDMIA R1!, {R4}; STMIA R3!, {R4}; SUBS R2, #1; BNE
    *(0x3001, 0x4700, 0xBF00),  # ADDS R0, #1; BX R0
)
_WHERE: Final = 0x0020_1000
_LOOP: Final = (
    *(0xA003, 0xC82F, 0x2400),  # ADR R0, the words; LDMIA R0, {R0-R3, R5}; MOVS R4, #0
    *(0x6001, 0x4051),  # STR R1, [R0]; EORS R1, R2
    *(0x701C, 0x682E, 0xE7FA),  # STRB R4, [R3]; LDR R6, [R5]; B to STR
)


def halfwords(*words: int) -> list[int]:
    return [half for word in words for half in (word & 0xFFFF, word >> 16)]


def flash(program: list[int]) -> bytes:
    """The flash with a guest that runs in SRAM."""
    vectors = struct.pack("<2I", 0x2004_0000, guests.FLASH + 0x201).ljust(0x138, b"\0")
    head = (vectors + struct.pack("<5I", *_BLOCK)).ljust(0x200, b"\0")
    code = struct.pack(f"<{len(_TO_SRAM) + len(program)}H", *_TO_SRAM, *program)
    pages = b"".join(struct.pack("<I", page).ljust(4096, b"\x5a") for page in range(1, FLASH_BYTES // 4096))
    return (head + code).ljust(4096, b"\xff") + pages


def writes(register: int, *, reads: bool) -> bytes:
    """Two values in turn to `register`; then it invalidates a line and reads it, in flash or else in SRAM."""
    words = (register, 0x0400_0000, 0x0000_0200, 0x1800_0002 + _WHERE, guests.FLASH + _WHERE if reads else 0x2000_0000)
    return flash([*_LOOP, *halfwords(*words)])


def spells(opcode: int, instruction: int) -> bytes:
    """An instruction of one byte to the flash chip, and one of five, in direct mode; two panes show the same flash."""
    csr, tx, pause = _QMI, _QMI + 4, [(0x4000_0000, 0)] * 8

    def send(*data: int) -> list[tuple[int, int]]:
        sent = (poke for byte in data for poke in ((tx, 1 << 20 | byte), *pause))
        return [(csr, 0x0180_0005), *sent, (csr, 0x0180_0001)]

    pokes = [(_ATRANS0 + 12, 0x0400_0000), *send(opcode), *send(instruction, 0x20, 0x10, 0, 0)]
    return flash(list(guests.poking(*pokes, then=(0xE7F8, 0xBF00), resets=_RESETS_CLEAR)))


GUESTS: Final = {
    "ATRANS written, against another register": (writes(_ATRANS0, reads=False), writes(_OTHER, reads=False)),
    "ATRANS written and flash read, against another register": (
        writes(_ATRANS0, reads=True),
        writes(_OTHER, reads=True),
    ),
    "flash programmed, against read": (spells(6, 2), spells(4, 3)),
}


@pytest.mark.parametrize("what", GUESTS)
def test_speed(what: str, short: bool, figure: Callable[..., None]) -> None:
    cycles, rounds = (20_000, 1) if short else (1_000_000, 5)

    def run(content: bytes) -> float:
        cpu_s, before, after = timed(content, PICO2, cycles, {"flash_bytes": FLASH_BYTES})
        assert after["instructions"] - before["instructions"] > cycles / 20
        return cpu_s

    hostile, plain = GUESTS[what]
    hostile_s, plain_s = quickest_s(rounds, lambda: run(hostile), lambda: run(plain))
    note = f"{hostile_s:.4f} s against {plain_s:.4f} s"
    figure(what, hostile_s / plain_s, "x", below=3, note=note)
