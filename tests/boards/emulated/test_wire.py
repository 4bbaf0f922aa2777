"""The console of an emulated board in simulated time."""

import pytest

from portbench.boards import Deadline, DeadlineExceeded
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import Simulation
from portbench.boards.emulated.wire import SimulatedWire
from portbench.firmware.uf2 import flash_content
from tests.ping_pong import EVB, NATIVE_IMAGE


@pytest.fixture
def wire() -> SimulatedWire:
    """The wire of a program without USB."""
    flash = flash_content(NATIVE_IMAGE, EVB.flash_bytes)
    return SimulatedWire(Simulation(flash, EmulatedConfig().settings(EVB)))


def test_a_board_without_a_prompt_ends_at_the_deadline(wire: SimulatedWire) -> None:
    with pytest.raises(DeadlineExceeded, match="still waiting for the prompt; the board printed b''"):
        wire.wait_prompt(Deadline(0.2, "prompt"))


def test_a_board_without_a_console_takes_nothing(wire: SimulatedWire) -> None:
    wire.until(Deadline(0.2, "wire"), "the console to take it")
    with pytest.raises(DeadlineExceeded, match="still waiting for the console to take it"):
        wire.write(b"1 + 1")
