"""Simulated waits end at their picosecond, however long the board has run before."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.testing import NothingCame
from portbench.testing.simulation import RecordedSimulation

pytestmark = pytest.mark.engine

DAY_US = 86_400e6


class Clock:
    """The engine's machine, as far as its time goes: whole picoseconds, and never back."""

    def __init__(self) -> None:
        self.ps = self.stands = 0

    @property
    def time_us(self) -> float:
        return self.ps / 1e6

    @property
    def time_ps(self) -> int:
        return self.ps

    def run_until_ps(self, until_ps: int) -> str:
        before, self.ps = self.ps, max(self.ps, until_ps)
        self.stands = self.stands + 1 if self.ps == before else 0
        assert self.stands < 3, f"asked for {until_ps!r} ps again and again, {self.ps} ps after the start"
        return ""

    def usb_events(self) -> list[tuple[float, str, str]]:
        return []

    def console_read(self) -> bytes:
        return b""

    def cpu_faults(self) -> tuple[list[object], int]:
        return [], 0


@pytest.fixture(scope="module")
def simulation() -> RecordedSimulation:
    simulation = RecordedSimulation(board_definition("RPI_PICO"), EmulatedConfig())
    simulation.machine = Clock()  # type: ignore[assignment]
    return simulation


@given(st.floats(0, DAY_US), st.integers(0, int(DAY_US * 1e6)), st.floats(0, 0.02))
@example(4_938_271.605, 1_234_567_891_234, 0.1)
@example(935_704_613.307328, 2_247_043_568_302_817, 0.004074)
def test_a_wait_ends_at_its_time(simulation: RecordedSimulation, before_us: float, ps: int, seconds: float) -> None:
    """The board has run for up to a day, and was powered up after as long."""
    clock: Any = simulation.machine
    simulation._before_ps, clock.ps, clock.stands = round(before_us * 1e6), ps, 0
    began_us = simulation.now_us
    simulation.run(seconds)
    assert simulation.now_us - began_us == pytest.approx(seconds * 1e6, abs=1e-4)
    with pytest.raises(NothingCame, match="a word did not come within"):
        simulation.wait(lambda: None, seconds, "a word", lambda: "")
