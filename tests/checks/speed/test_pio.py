"""The guest that shifts without a pause."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench_engine import Machine, bootrom

from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from portbench.firmware.images import ImageStore
from portbench.runner.checks.speed import pio
from portbench.runner.checks.speed.check import PARTS, Speed
from portbench.runner.checks.speed.guest import in_turns

pytestmark = pytest.mark.engine
PICO_W = board_definition(pio.BOARD)


def test_the_guest_clocks_a_bit_in_four_cycles() -> None:
    machine = Machine(bootrom(), pio.flash(PICO_W), EmulatedConfig().settings(PICO_W))
    passed = []
    for time_us in (10_000, 20_000):
        machine.run_until_ps(ps(time_us))
        passed.append(machine.stats()["spi_bytes"])
    # 6.5 MHz for 10 ms are 65 000 cycles, and a word is 128 of them.
    assert (passed[1] - passed[0]) / 4 == pytest.approx(65_000 / 128, abs=1)


def test_the_part_of_the_benchmark_needs_no_image(tmp_path: Path) -> None:
    session = Speed(
        print, PICO_W, ImageStore([], cache=tmp_path, state=tmp_path, offline=True), quick=True, project=tmp_path
    )
    against_the_chip, against_edges = PARTS["pio"](session)
    assert against_the_chip.value is not None and against_the_chip.value > 0
    assert against_edges.value is not None and against_edges.value > 0


def test_the_quickest_run_of_each_way_counts() -> None:
    plain, other = iter([3.0, 1.0, 2.0]), iter([7.0, 8.0, 9.0])
    speed = in_turns(25_000_000, 3, lambda: next(plain), lambda: next(other))
    assert (speed.plain_s, speed.other_s, speed.chip_s) == (1.0, 7.0, 0.2)
