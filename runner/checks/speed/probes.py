"""The cost of probes: one run of the native client without any probe, with each, and on an engine that has none.

All in one process and in turns, so that what else the machine does falls on all alike.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import portbench_engine

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.run import Figures, Run
from portbench.firmware.uf2 import flash_content
from portbench.server.simulated_pc import part_in

UNPROBED: Final = Path("engine", "target", "unprobed", "release")
"""Below the project: what `make unprobed` builds."""
_SAMPLE_CYCLES: Final = 12_500
_MOST_RECORDS: Final = 4_000_000
_TRACED: Final = ("irq", "lan", "pins", "cores", "wire")

Probe = Callable[[Any], object]
PROBES: Final[dict[str, Probe]] = {
    "attribution": lambda machine: machine.attribution_start(),
    "trace": lambda machine: (machine.spi_log(True), machine.trace_start(_TRACED, _MOST_RECORDS)),
    "sampled profile": lambda machine: machine.profile_start(_SAMPLE_CYCLES),
    "exact profile": lambda machine: machine.profile_start(),
}


@dataclass(frozen=True)
class ProbeCost:
    """CPU seconds of the quickest of several runs."""

    off_s: float
    on_s: dict[str, float]
    unprobed_s: float | None
    """On an engine that was built without probes; None where there is none."""


def measure_probes(
    image: Path, definition: BoardDefinition, unprobed: Any | None, deadline: Deadline, *, rounds: int
) -> ProbeCost:
    """`unprobed`: the engine of `unprobed_engine`. Raises BoardError where a probe moves a figure."""
    run = Bench(image, definition, deadline)
    ways: dict[str, tuple[Any, Probe | None]] = {"off": (portbench_engine, None)}
    ways |= {name: (portbench_engine, probe) for name, probe in PROBES.items()}
    if unprobed is not None:
        ways["unprobed"] = (unprobed, None)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (engine, probe) in ways.items():
            taken[name].append(run.timed(engine, probe, name))
    quickest = {name: min(seconds) for name, seconds in taken.items()}
    return ProbeCost(quickest["off"], {name: quickest[name] for name in PROBES}, quickest.get("unprobed"))


class Bench:
    """The same run again and again; every one has to give the same figures."""

    def __init__(self, image: Path, definition: BoardDefinition, deadline: Deadline) -> None:
        self._flash = flash_content(image, definition.flash_bytes)
        self._config = EmulatedConfig(phy_link_delay_us=1000)
        self._definition = definition
        self._deadline = deadline
        self.figures: Figures | None = None

    def timed(self, engine: Any, probe: Probe | None, name: str) -> float:
        """CPU seconds. Raises BoardError."""
        run = Run(self._definition, self._config, self._flash, part_in("ping_pong", {}), engine=engine)
        if probe is not None:
            probe(run.machine)
        started_s = time.thread_time()
        figures = run.to_end(self._deadline)
        took_s = time.thread_time() - started_s
        self.figures = self.figures or figures
        if figures != self.figures:
            raise BoardError(f"probes: {name}: the run had other figures; the engine is at fault")
        return took_s


def unprobed_engine(project: Path) -> Any | None:
    """The engine without probes; None if it is not built."""
    path = next((path for path in (project / UNPROBED).glob("lib_native.*") if path.suffix in (".so", ".dylib")), None)
    if path is None:
        return None
    loader = importlib.machinery.ExtensionFileLoader("_native", str(path))
    spec = importlib.util.spec_from_file_location("_native", path, loader=loader)
    assert spec is not None
    engine = importlib.util.module_from_spec(spec)
    loader.exec_module(engine)
    return engine


def ratios(cost: ProbeCost) -> Iterator[tuple[str, float, str]]:
    """What a run takes more, as a factor of one with every probe off, and how that was measured."""
    for name, on_s in cost.on_s.items():
        yield f"{name} on against off", on_s / cost.off_s, f"{on_s:.3f} s against {cost.off_s:.3f} s"
    if cost.unprobed_s is not None:
        note = f"{cost.off_s:.3f} s against {cost.unprobed_s:.3f} s"
        yield "all probes off against an engine without", cost.off_s / cost.unprobed_s, note
