"""A guest that keeps both cores busy, each with the shortest loop in flash, and the same guest with one of them asleep.

It is assembled here. Core 1 is started as the boot ROM has it: six words through the FIFO, each sent back.
"""

from __future__ import annotations

import struct
from typing import Final

from portbench.boards import BoardDefinition, BoardError
from portbench.runner.checks.speed import guest
from portbench.runner.checks.speed.guest import PROGRAM, VECTORS, TwoWays, in_turns

LOOP: Final = PROGRAM + 0x2E
_STACKS: Final = (0x2004_2000, 0x2004_1000)
_SIO: Final = 0xD000_0000


def flash(definition: BoardDefinition, both: bool) -> bytes:
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
    words = [_SIO, 0, 0, 1, VECTORS, _STACKS[1], LOOP | 1]
    code = struct.pack(f"<{len(program)}H{len(words)}I", *program, *words)
    return guest.flash(definition, code, stack=_STACKS[0], entry=PROGRAM if both else LOOP)


def measure_cores(definition: BoardDefinition, cycles: int, rounds: int) -> TwoWays:
    """One core alone, and both. Raises BoardError where a core is not in its loop, or one that should sleep is."""
    return in_turns(
        cycles, rounds, lambda: _run(definition, cycles, both=False), lambda: _run(definition, cycles, both=True)
    )


def _run(definition: BoardDefinition, cycles: int, both: bool) -> float:
    seconds, before, after = guest.timed(flash(definition, both), definition, cycles)
    # Two instructions in three cycles, without waiting for flash.
    share = (after["instructions"] - before["instructions"]) / (cycles * 2 / 3)
    if not 0.99 < share / (1 + both) < 1.01:
        raise BoardError(f"two cores: they executed {share:.3f} times what one core does; the engine is at fault")
    return seconds
