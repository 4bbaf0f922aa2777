"""MicroPython's empty loop on the engine: instructions per second, and how that compares with the chip's own time."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from portbench.boards import BoardDefinition, Deadline
from portbench.runner.checks.speed.repl import LOOP, ReplMachine

ITERATIONS = 300_000


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
    clk_sys_hz: int

    @property
    def instructions_per_s(self) -> float:
        return self.instructions / self.cpu_s

    @property
    def chip_instructions_per_s(self) -> float:
        """What the chip does at the clk_sys that the firmware has set."""
        return self.instructions / self.simulated_s

    @property
    def times_real_time(self) -> float:
        return self.simulated_s / self.cpu_s

    @property
    def iterations_per_s(self) -> float:
        return self.iterations / self.cpu_s


def measure_loop(
    image: Path,
    definition: BoardDefinition,
    deadline: Deadline,
    *,
    iterations: int = ITERATIONS,
    runs: int = 3,
    translated: bool = True,
) -> LoopSpeed:
    """The loop typed at the prompt of the MicroPython `image`; of several runs the one with the median CPU time.

    Not `translated`: each instruction is interpreted, in the same simulated time.
    """
    return median(measure_loops(image, definition, deadline, iterations=iterations, runs=runs, translated=translated))


def measure_loops(
    image: Path,
    definition: BoardDefinition,
    deadline: Deadline,
    *,
    iterations: int = ITERATIONS,
    runs: int = 3,
    translated: bool = True,
) -> list[LoopSpeed]:
    """`measure_loop`, with all its runs. Their simulated times can be a USB frame apart."""
    board = ReplMachine(image, definition, translated=translated)
    board.start(deadline)
    return [timed_loop(board, iterations, deadline) for _ in range(runs)]


def timed_loop(board: ReplMachine, iterations: int, deadline: Deadline) -> LoopSpeed:
    """One run of the loop on a board that is at its prompt."""
    instructions, simulated_us = board.instructions, board.machine.time_us
    cpu_s, host_s = time.thread_time(), time.perf_counter()
    board.type(LOOP.format(iterations), deadline)
    return LoopSpeed(
        iterations=iterations,
        cpu_s=time.thread_time() - cpu_s,
        host_s=time.perf_counter() - host_s,
        simulated_s=(board.machine.time_us - simulated_us) / 1e6,
        instructions=board.instructions - instructions,
        clk_sys_hz=board.machine.stats()["clk_sys_hz"],
    )


def median(speeds: list[LoopSpeed]) -> LoopSpeed:
    """The run with the median CPU time."""
    middle = statistics.median_low(speed.cpu_s for speed in speeds)
    return next(speed for speed in speeds if speed.cpu_s == middle)
