"""MicroPython's empty loop, typed at the prompt of an emulated board: the time it takes the host, and the chip."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, Deadline
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import PS_PER_S, Simulation
from portbench.boards.emulated.wire import SimulatedWire
from portbench.firmware.uf2 import flash_content

Figure = Callable[..., None]
"""The fixture `figure`."""
MICROPYTHON: Final = "micropython-1.26.0"
LIMIT_S: Final = 300.0
_STEP_PS: Final = PS_PER_S // 2
"""The fewer returns to Python, the less of it is measured."""
_LOOP: Final = "for i in range({}): pass\r\n\r\n"
"""The end of the block is an empty line."""
_PROMPT: Final = b">>> "


@dataclass(frozen=True)
class LoopSpeed:
    """One loop of `iterations`: the time of the host, simulated time (the chip's), and the executed instructions.

    `cpu_s` is the CPU time of the engine's thread: what else the machine does counts as little as it can. `host_s` is
    by the clock on the wall.
    """

    iterations: int
    cpu_s: float
    host_s: float
    simulated_s: float
    instructions: int

    @property
    def instructions_per_s(self) -> float:
        return self.instructions / self.cpu_s


class LoopBoard:
    """A board with `image` in its flash. `translated` False: each instruction is interpreted, in the same simulated
    time."""

    def __init__(self, image: Path, definition: BoardDefinition, *, translated: bool = True) -> None:
        settings = {**EmulatedConfig().settings(definition), "translated": translated}
        self.simulation = Simulation(flash_content(image, definition.flash_bytes), settings)
        self.simulation.slice_ps = _STEP_PS
        self._wire = SimulatedWire(self.simulation, step_ps=_STEP_PS)

    def start(self, deadline: Deadline) -> float:
        """Run from power-up to the prompt; CPU seconds."""
        started_s = time.thread_time()
        self._wire.wait_prompt(deadline)
        return time.thread_time() - started_s

    def loop(self, iterations: int, deadline: Deadline) -> LoopSpeed:
        """Run the loop once, on a board that is at its prompt."""
        machine = self.simulation.machine
        instructions, simulated_us = machine.stats()["instructions"], machine.time_us
        cpu_s, host_s = time.thread_time(), time.perf_counter()
        self._wire.until(deadline, "the loop's end")
        self._wire.write(_LOOP.format(iterations).encode())
        said = b""
        while not said.endswith(_PROMPT):
            said += self._wire.read_some(1)
        return LoopSpeed(
            iterations=iterations,
            cpu_s=time.thread_time() - cpu_s,
            host_s=time.perf_counter() - host_s,
            simulated_s=(machine.time_us - simulated_us) / 1e6,
            instructions=machine.stats()["instructions"] - instructions,
        )


def loops(
    image: Path, definition: BoardDefinition, deadline: Deadline, iterations: int, runs: int, *, translated: bool = True
) -> list[LoopSpeed]:
    """Several runs of the loop. Their simulated times can be a USB frame apart."""
    board = LoopBoard(image, definition, translated=translated)
    board.start(deadline)
    return [board.loop(iterations, deadline) for _ in range(runs)]


def median(speeds: Iterable[LoopSpeed]) -> LoopSpeed:
    """The run with the median CPU time."""
    by_time = sorted(speeds, key=lambda speed: speed.cpu_s)
    return by_time[(len(by_time) - 1) // 2]
