"""The guest that keeps both cores busy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench_engine import Machine, bootrom

from portbench.boards import BoardError, board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from portbench.firmware.images import ImageStore
from portbench.runner.checks.speed import cores
from portbench.runner.checks.speed.check import PARTS, Speed

pytestmark = pytest.mark.engine
PICO = board_definition("RPI_PICO")
_R6, _PC = 6, 15
_MASK = 0xFFFF_FFFF


@pytest.mark.parametrize("both", [False, True])
def test_each_core_turns_in_its_loop_once_in_three_cycles(both: bool) -> None:
    machine = Machine(bootrom(), cores.flash(PICO, both), EmulatedConfig().settings(PICO))
    turns = []
    for time_us in (10_000, 20_000):
        machine.run_until_ps(ps(time_us))
        turns.append([core[_R6] for core in machine.registers()])
    # 6.5 MHz for 10 ms are 65 000 cycles.
    first, second = (after - before & _MASK for before, after in zip(*turns, strict=True))
    assert first == pytest.approx(65_000 / 3, abs=1)
    assert second == (pytest.approx(65_000 / 3, abs=1) if both else 0)
    loop = (cores.LOOP, cores.LOOP + 2)
    assert [core[_PC] in loop for core in machine.registers()] == [True, both]


def test_the_part_of_the_benchmark_needs_no_image(tmp_path: Path) -> None:
    session = Speed(
        print, PICO, ImageStore([], cache=tmp_path, state=tmp_path, offline=True), quick=True, project=tmp_path
    )
    for_a_second, against_one = PARTS["cores"](session)
    assert for_a_second.value is not None and for_a_second.value > 0
    assert against_one.value is not None and against_one.value > 0


def test_cores_that_do_not_run_are_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    one = cores.flash(PICO, both=False)
    monkeypatch.setattr(cores, "flash", lambda definition, both: one)
    with pytest.raises(BoardError, match=r"two cores: they executed 1\.\d+ times what one core does"):
        cores.measure_cores(PICO, 30_000, 1)
