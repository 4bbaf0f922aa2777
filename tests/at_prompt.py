"""MicroPython at its raw prompt on an emulated board without a bench around it, in simulated time."""

from pathlib import Path
from typing import Any

from portbench.boards import BoardDefinition, Deadline
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import Simulation
from portbench.boards.emulated.wire import SimulatedWire
from portbench.boards.repl import Repl
from portbench.firmware.uf2 import flash_content


def at_prompt(image: Path, definition: BoardDefinition, deadline: Deadline, **settings: Any) -> tuple[Simulation, Repl]:
    """A board with `image` that has just been switched on, and its prompt. `settings`: the engine's further ones."""
    flash = flash_content(image, definition.flash_bytes)
    simulation = Simulation(flash, EmulatedConfig().settings(definition) | settings)
    wire = SimulatedWire(simulation)
    wire.wait_prompt(deadline)
    return simulation, Repl(wire, deadline.what, pastes=False)
