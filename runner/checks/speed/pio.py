"""A guest that does nothing but shift: PIO at a radio chip's clock, fed by DMA, as bulk transfers of a Pico W have it.

It is assembled here, of register writes and a loop that polls the DMA as drivers do. It runs on an engine that carries
out laps of the program at once and on one that makes an event of each edge, in turns.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from portbench.boards import BoardDefinition, BoardError
from portbench.runner.checks.speed import guest
from portbench.runner.checks.speed.guest import FLASH, PROGRAM, TwoWays, in_turns

BOARD: Final = "RPI_PICO_W"
_TABLE: Final = PROGRAM + 0x40
_STACK: Final = 0x2004_0000
_ON, _DATA, _CSN, _CLOCK = 23, 24, 25, 29
_PIO0: Final = 0x5020_0000
_DMA: Final = 0x5000_0000
_SIO: Final = 0xD000_0000


def _writes() -> Iterator[tuple[int, int]]:
    yield 0x4000_F000, 0x01FF_FFFF  # RESETS: all out
    for pin, function in ((_ON, 5), (_CSN, 5), (_DATA, 6), (_CLOCK, 6)):
        yield 0x4001_4004 + 8 * pin, function
    yield _SIO + 0x14, 1 << _ON
    yield _SIO + 0x24, 1 << _ON | 1 << _CSN  # selected: low
    # out pins, 1 side 0; jmp x-- side 1; jmp 0 side 0
    for address, instruction in enumerate((0x6001, 0x1040, 0x0000)):
        yield _PIO0 + 0x48 + 4 * address, instruction
    yield _PIO0 + 0xC8, 2 << 16  # two cycles an instruction
    yield _PIO0 + 0xCC, 2 << 12
    yield _PIO0 + 0xD0, 1 << 17  # autopull
    for pin in (_DATA, _CLOCK):
        yield _PIO0 + 0xDC, 1 << 26 | pin << 5
        yield _PIO0 + 0xD8, 0xE081  # set pindirs, 1
    yield _PIO0 + 0xD8, 0xA02B  # mov x, !null
    yield _PIO0 + 0xDC, 1 << 29 | 1 << 20 | _CLOCK << 10 | _DATA
    yield _PIO0 + 0xD8, 0x0000  # jmp 0
    yield _DMA, FLASH
    yield _DMA + 4, _PIO0 + 0x10
    yield _DMA + 8, 0xFFFF_FFFF
    yield _DMA + 0xC, 8 << 6 | 1 << 4 | 2 << 2 | 1  # the first 256 bytes of flash, again and again, as TX asks
    yield _PIO0, 1


def flash(definition: BoardDefinition) -> bytes:
    """The flash with the guest in it."""
    program = [
        0x4806,  # LDR R0, =the writes
        0xC806,  # LDMIA R0!, {R1, R2}
        0x2900,  # CMP R1, #0
        0xD001,  # BEQ over the next two
        0x600A,  # STR R2, [R1]
        0xE7FA,  # B to LDMIA
        0x4904,  # LDR R1, =the DMA
        0xBF00,
        0x68CA,  # LDR R2, [R1, #CTRL]
        0x0612,  # LSLS R2, R2, #24
        0xE7FC,  # B to LDR CTRL
        0xBF00,
        0xBF00,
        0xBF00,
        _TABLE & 0xFFFF,
        _TABLE >> 16,
        _DMA & 0xFFFF,
        _DMA >> 16,
    ]
    code = struct.pack(f"<{len(program)}H", *program).ljust(_TABLE - PROGRAM, b"\xff")
    table = b"".join(struct.pack("<II", *write) for write in (*_writes(), (0, 0)))
    return guest.flash(definition, code + table, stack=_STACK)


def measure_pio(definition: BoardDefinition, cycles: int, rounds: int) -> TwoWays:
    """Laps carried out at once, and edge by edge. Raises BoardError where the two ways differ."""
    content = flash(definition)
    passed: set[int] = set()

    def run(laps: bool) -> float:
        cpu_s, _, stats = guest.timed(content, definition, cycles, {"pio_laps": laps})
        passed.add(stats["spi_bytes"])
        return cpu_s

    speed = in_turns(cycles, rounds, lambda: run(True), lambda: run(False))
    if len(passed) != 1 or not passed.pop():
        raise BoardError("PIO: the same guest passed other bytes to the radio chip; the engine is at fault")
    return speed
