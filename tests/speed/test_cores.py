"""Both cores, each in the shortest loop in flash, beside one of them; the other is asleep.

The guest is assembled here. Core 1 is started as the boot ROM has it: six words through the FIFO, each sent back.
"""

from collections.abc import Callable
from typing import Final

import pytest

from portbench.boards import board_definition
from tests.boards.emulated import guests
from tests.speed.guest import CLK_SYS_HZ, quickest_s, timed

pytestmark = pytest.mark.engine
PICO: Final = board_definition("RPI_PICO")
LOOP: Final = guests.PROGRAM + 0x2E
_VECTORS: Final = guests.FLASH + 0x100
_STACK_1: Final = 0x2004_1000
_SIO: Final = 0xD000_0000
_R6, _PC = 6, 15


def flash(both: bool) -> bytes:
    """The flash with the guest in it."""
    program = [
        0x480C,  # LDR R0, =SIO
        0x2401,  # MOVS R4, #1
        0xA10C,  # again: ADR R1, words
        0x2506,  # MOVS R5, #6
        0xC904,  # next: LDMIA R1!, {R2}
        0x2A00,  # CMP R2, #0
        0xD105,  # BNE push
        0x6D03,  # drain: LDR R3, [R0, #FIFO_ST]
        0x4223,  # TST R3, R4
        0xD001,  # BEQ drained
        0x6D83,  # LDR R3, [R0, #FIFO_RD]
        0xE7FA,  # B drain
        0xBF40,  # drained: SEV
        0x6542,  # push: STR R2, [R0, #FIFO_WR]
        0xBF40,  # SEV
        0x6D03,  # wait: LDR R3, [R0, #FIFO_ST]
        0x4223,  # TST R3, R4
        0xD0FC,  # BEQ wait
        0x6D83,  # LDR R3, [R0, #FIFO_RD]
        0x4293,  # CMP R3, R2
        0xD1EC,  # BNE again
        0x3D01,  # SUBS R5, #1
        0xD1EC,  # BNE next
        0x3601,  # loop: ADDS R6, #1
        0xE7FD,  # B loop
        0x46C0,
    ]
    words = [_SIO, 0, 0, 1, _VECTORS, _STACK_1, LOOP | 1]
    if not both:
        program[0] = 0xE015  # B loop
    return guests.flash([*program, *(half for word in words for half in (word & 0xFFFF, word >> 16))], [])


def test_speed(short: bool, figure: Callable[..., None]) -> None:
    cycles, rounds = (200_000, 1) if short else (25_000_000, 3)

    def run(both: bool) -> float:
        cpu_s, before, after = timed(flash(both), PICO, cycles)
        # Two instructions in three cycles, without waiting for flash.
        share = (after["instructions"] - before["instructions"]) / (cycles * 2 / 3)
        assert share == pytest.approx(1 + both, rel=0.01)
        return cpu_s

    one_s, both_s = quickest_s(rounds, lambda: run(False), lambda: run(True))
    note = f"{cycles / 1e6:g} M cycles in {both_s:.3f} s"
    figure("two busy cores: for a simulated second at 125 MHz", both_s * CLK_SYS_HZ / cycles, "s", note=note)
    figure("two busy cores: against one alone", both_s / one_s, "x", note=f"{both_s:.3f} s against {one_s:.3f} s")
