"""A guest that does nothing but shift: PIO at a radio chip's clock, fed by DMA, as bulk transfers of a Pico W have it.

It is assembled here, of register writes and a loop that polls the DMA as drivers do. It runs on an engine that carries
out laps of the program at once and on one that makes an event of each edge, in turns.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pytest
from portbench_engine import Machine, bootrom

from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from tests.boards.emulated import guests
from tests.speed.guest import CLK_SYS_HZ, quickest_s, timed

pytestmark = pytest.mark.engine
PICO_W: Final = board_definition("RPI_PICO_W")
_ON, _DATA, _CSN, _CLOCK = 23, 24, 25, 29
_PIO0: Final = 0x5020_0000
_DMA: Final = 0x5000_0000
_SIO: Final = 0xD000_0000


def _writes() -> Iterator[tuple[int, int]]:
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
    yield _DMA, guests.FLASH
    yield _DMA + 4, _PIO0 + 0x10
    yield _DMA + 8, 0xFFFF_FFFF
    yield _DMA + 0xC, 8 << 6 | 1 << 4 | 2 << 2 | 1  # the first 256 bytes of flash, again and again, as TX asks
    yield _PIO0, 1


def flash() -> bytes:
    """The flash with the guest in it."""
    polls = (
        0x2150,  # MOVS R1, #0x50
        0x0609,  # LSLS R1, R1, #24: the DMA
        0x68CA,  # LDR R2, [R1, #CTRL]
        0x0612,  # LSLS R2, R2, #24
        0xE7FC,  # B to LDR CTRL
        0xBF00,
    )
    return guests.flash(list(guests.poking(*_writes(), then=polls)), [])


def test_the_guest_clocks_a_bit_in_four_cycles() -> None:
    machine = Machine(bootrom(), flash(), EmulatedConfig().settings(PICO_W))
    passed = []
    for time_us in (10_000, 20_000):
        machine.run_until_ps(ps(time_us))
        passed.append(machine.stats()["spi_bytes"])
    # 6.5 MHz for 10 ms are 65 000 cycles, and a word is 128 of them.
    assert (passed[1] - passed[0]) / 4 == pytest.approx(65_000 / 128, abs=1)


def test_speed(short: bool, figure: Callable[..., None]) -> None:
    """Either way the same bytes get to the radio chip."""
    cycles, rounds = (200_000, 1) if short else (25_000_000, 3)
    passed: set[int] = set()

    def run(laps: bool) -> float:
        cpu_s, _, after = timed(flash(), PICO_W, cycles, {"pio_laps": laps})
        passed.add(after["spi_bytes"])
        return cpu_s

    laps_s, edges_s = quickest_s(rounds, lambda: run(True), lambda: run(False))
    assert len(passed) == 1 and passed.pop() > 0
    what = "gSPI without a pause"
    note = f"{cycles / 1e6:g} M cycles at 125 MHz, polled by a core, in {laps_s:.3f} s"
    figure(f"{what}: against the chip", cycles / CLK_SYS_HZ / laps_s, "x real time", at_least=1, note=note)
    note = f"{edges_s:.3f} s against {laps_s:.3f} s"
    figure(f"{what}: against an event for each edge", edges_s / laps_s, "x", note=note)
