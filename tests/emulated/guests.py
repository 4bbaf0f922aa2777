"""Guests assembled by hand, for what needs a program on the board and no more than that."""

from __future__ import annotations

import struct
from typing import Final

from portbench.firmware.uf2 import flash_content
from tests.ping_pong import NATIVE_IMAGE

FLASH: Final = 0x1000_0000
FLASH_BYTES: Final = 2 << 20
PROGRAM: Final = FLASH + 0x200
_STACK: Final = 0x2004_0000
_RESETS_CLEAR: Final = 0x4000_F000
_CLK_PERI_CTRL: Final = 0x4000_8048
_GPIO_CTRL: Final = 0x4001_4004
_UART: Final = (0x4003_4000, 0x4003_8000)

CHARACTER_US: Final = 10 * 16 * (3 + 34 / 64) / 6.5
"""Of the echo: near 115200 baud, from ROSC's 6.5 MHz."""


def flash(program: list[int], words: list[int]) -> bytes:
    """The whole flash: our boot stage 2, a vector table, `program`, and from the next 128 bytes on, `words`."""
    boot2 = flash_content(NATIVE_IMAGE)[:256]
    vectors = struct.pack("<48I", _STACK, PROGRAM | 1, *[PROGRAM | 1] * 46).ljust(0x100, b"\xff")
    code = struct.pack(f"<{len(program)}H", *program).ljust(0x80, b"\xff")
    return (boot2 + vectors + code + struct.pack(f"<{len(words)}I", *words)).ljust(FLASH_BYTES, b"\xff")


def uart_echo(uart: int = 0, tx: int = 0, rx: int = 1) -> bytes:
    """Sends each character that comes back, plus one."""
    base = _UART[uart]
    pokes = [
        (_RESETS_CLEAR, 0x01FF_FFFF),
        (_CLK_PERI_CTRL, 1 << 11),
        *((_GPIO_CTRL + 8 * pin, 2) for pin in (tx, rx)),
        (base + 0x24, 3),
        (base + 0x28, 34),
        (base + 0x2C, 0x70),
        (base + 0x30, 0x301),
    ]
    program = [
        0x4809,  # LDR R0, =the pokes
        0xC806,  # LDMIA R0!, {R1, R2}
        0x2900,  # CMP R1, #0
        0xD001,  # BEQ over the next two
        0x600A,  # STR R2, [R1]
        0xE7FA,  # B to LDMIA
        0x4907,  # LDR R1, =the UART
        0x2310,  # MOVS R3, #RXFE
        0x698A,  # LDR R2, [R1, #FR]
        0x421A,  # TST R2, R3
        0xD1FC,  # BNE to LDR FR
        0x680A,  # LDR R2, [R1]
        0x3201,  # ADDS R2, #1
        0x600A,  # STR R2, [R1]
        0xE7F8,  # B to LDR FR
    ]
    program += [0xBF00] * (20 - len(program))
    table = PROGRAM + 0x80
    program += [table & 0xFFFF, table >> 16, base & 0xFFFF, base >> 16]
    return flash(program, [word for poke in pokes for word in poke] + [0, 0])
