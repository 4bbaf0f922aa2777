"""The guest that shifts without a pause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench._engine", reason=NO_ENGINE)

from portbench._engine import Machine
from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import bootrom, ps
from portbench.firmware.images import ImageStore
from portbench.runner.checks.speed import pio
from portbench.runner.checks.speed.check import PARTS, Speed

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
    session = Speed(print, PICO_W, ImageStore([], state=tmp_path, offline=True), quick=True, project=tmp_path)
    against_the_chip, against_edges = PARTS["pio"](session)
    assert against_the_chip.value is not None and against_the_chip.value > 0
    assert against_edges.value is not None and against_edges.value > 0


def test_the_other_way_is_measured_at_the_same_clock() -> None:
    speed = pio.PioSpeed(cycles=125_000_000, laps_s=0.5, edges_s=8.0)
    assert speed.times_real_time == 2.0
    assert replace(speed, laps_s=2.0).times_real_time == 0.5
