"""Guests that differ in code alone, or in layout alone: the answer is known before they are run in other layouts."""

import struct
from typing import Any, Final

import pytest
from portbench_engine import Machine, bootrom

from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from portbench.results.compare import compare
from portbench.results.layout import Split
from portbench.results.model import Layouts
from tests.boards.emulated.guests import FLASH, flash
from tests.results.rows import other_row, run_of

COUNT: Final = 0x2000_1000
APART: Final = (0x1000, 0x1100, 0x1200)
TOGETHER: Final = (0x1000, 0x3000, 0x5000)
"""8 KiB apart: each line of the three has the set of the two others."""
DRAWN: Final = 6


def guest(functions: tuple[int, ...] = APART, lengths: tuple[int, ...] = (32, 32, 32)) -> bytes:
    """Calls three functions in turn, each so many NOPs long, and counts the turns at `COUNT`."""
    program = [
        0x2300,  # MOVS R3, #0
        0x4C05,  # LDR R4, =COUNT
        0x4D05,  # LDR R5, =the first function
        0x4E06,  # LDR R6, =the second
        0x4F06,  # LDR R7, =the third
        0x47A8,  # BLX R5
        0x47B0,  # BLX R6
        0x47B8,  # BLX R7
        0x3301,  # ADDS R3, #1
        0x6023,  # STR R3, [R4]
        0xE7F9,  # B to the first BLX
        0xBF00,  # NOP, to align what follows
    ]
    for literal in (COUNT, *(FLASH + at + 1 for at in functions)):
        program += [literal & 0xFFFF, literal >> 16]
    image = bytearray(flash(program, []))
    for at, nops in zip(functions, lengths, strict=True):
        image[at : at + 2 * nops + 2] = struct.pack(f"<{nops + 1}H", *[0xBF00] * nops, 0x4770)
    return bytes(image)


def turns(image: bytes, **changes: Any) -> dict[str, float]:
    settings = EmulatedConfig(**changes).settings(board_definition("RPI_PICO"))
    machine = Machine(bootrom(), image, settings)
    machine.run_until_ps(ps(300_000.0))
    (count,) = struct.unpack("<I", machine.read_sram(COUNT, 4))
    return {"turns": count}


def layouts(image: bytes) -> Layouts:
    drawn = [turns(image, flash_layout=seed) for seed in range(1, DRAWN + 1)]
    return Layouts(linked=turns(image), free=turns(image, xip_miss_cost=False), drawn=drawn)


def difference(before: bytes, after: bytes) -> Split:
    headline = {"name": "turns", "unit": "turns", "better": "higher"}
    runs = [
        run_of(other_row(1, sim={}, headline=headline, figures=found.linked, layouts=found))
        for found in map(layouts, (before, after))
    ]
    (comparison,) = compare(*runs)
    (found,) = comparison.splits
    assert found.linked == pytest.approx(comparison.slower)
    return found


def test_the_same_functions_elsewhere_are_layout() -> None:
    found = difference(guest(), guest(TOGETHER))
    assert found.linked > 1
    assert found.free == pytest.approx(0, abs=0.001)
    assert found.code == pytest.approx(0, abs=0.001)
    assert found.layout == pytest.approx(found.linked, rel=0.01)


def test_more_instructions_in_their_place_are_code() -> None:
    found = difference(guest(), guest(lengths=(32, 32, 48)))
    assert found.linked == pytest.approx(0.1, abs=0.05)
    assert found.free == pytest.approx(found.linked, abs=0.001)
    assert found.code == pytest.approx(found.linked, abs=0.001) and found.is_code
    assert found.layout == pytest.approx(0, abs=0.001)


def test_both_at_once_are_told_apart() -> None:
    code = difference(guest(), guest(lengths=(32, 32, 48))).code
    found = difference(guest(), guest(TOGETHER, (32, 32, 48)))
    assert found.linked > 1
    assert found.code == pytest.approx(code, abs=0.001)


def test_a_layout_is_the_same_each_time_and_differs_from_others() -> None:
    image = guest(TOGETHER)
    assert turns(image, flash_layout=3) == turns(image, flash_layout=3) != turns(image)
