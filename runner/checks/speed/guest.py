"""Guests that are assembled here, and what they take of the PC: no image is needed for them."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from portbench.boards import BoardDefinition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import PS_PER_S, PS_PER_US, Simulation
from portbench.firmware.uf2 import flash_content
from portbench.workloads.ping_pong.workload import WORKLOAD as PING_PONG

CLK_SYS_HZ: Final = 125_000_000
"""What firmware sets. Guests stay on the ring oscillator, since cycles are what costs."""
FLASH: Final = 0x1000_0000
VECTORS: Final = FLASH + 0x100
PROGRAM: Final = FLASH + 0x200
"""Where a guest's code is, behind its vectors."""
_ROSC_HZ: Final = 6_500_000
_START_PS: Final = 10_000 * PS_PER_US
"""The boot ROM is done by then, and the guest under way."""


def flash(definition: BoardDefinition, program: bytes, *, stack: int, entry: int = PROGRAM) -> bytes:
    """A flash with `program` at PROGRAM; every vector leads to `entry`."""
    native = PING_PONG.native()
    assert native is not None  # it is in the repository, and begins with our boot stage 2
    boot2 = flash_content(native, definition.flash_bytes)[: VECTORS - FLASH]
    vectors = struct.pack("<48I", stack, *[entry | 1] * 47).ljust(PROGRAM - VECTORS, b"\xff")
    return (boot2 + vectors + program).ljust(definition.flash_bytes, b"\xff")


@dataclass(frozen=True)
class TwoWays:
    """CPU seconds for `cycles` cycles of clk_sys, the quickest of several runs each way: plain, and the other one."""

    cycles: int
    plain_s: float
    other_s: float

    @property
    def chip_s(self) -> float:
        """The chip's own time for the cycles, at the clk_sys that firmware sets."""
        return self.cycles / CLK_SYS_HZ


def in_turns(cycles: int, rounds: int, plain: Callable[[], float], other: Callable[[], float]) -> TwoWays:
    """`plain` and `other` give the CPU seconds of one run."""
    taken = [(plain(), other()) for _ in range(rounds)]
    return TwoWays(cycles, *map(min, zip(*taken, strict=True)))


def timed(
    content: bytes, definition: BoardDefinition, cycles: int, more: Mapping[str, Any] | None = None
) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """CPU seconds for `cycles` cycles of a guest under way, with the machine's counts before and after them."""
    simulation = Simulation(content, {**EmulatedConfig().settings(definition), **(more or {})})
    simulation.step(_START_PS)
    before = simulation.machine.stats()
    started_s = time.thread_time()
    simulation.step(_START_PS + cycles * PS_PER_S // _ROSC_HZ)
    return time.thread_time() - started_s, before, simulation.machine.stats()
