"""The PC's time that guests take."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from portbench.boards import BoardDefinition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import PS_PER_S, PS_PER_US, Simulation

CLK_SYS_HZ: Final = 125_000_000
"""Clock that firmware sets. Guests stay on the ring oscillator, since cycles are what costs."""
_ROSC_HZ: Final = 6_500_000
_START_PS: Final = 10_000 * PS_PER_US
"""The boot ROM is done by then, and the guest under way."""


def quickest_s(rounds: int, *ways: Callable[[], float]) -> list[float]:
    """The least CPU seconds of each way; they take turns, so that what else the machine does falls on all alike."""
    taken = [[way() for way in ways] for _ in range(rounds)]
    return [min(each) for each in zip(*taken, strict=True)]


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
