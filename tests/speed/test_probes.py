"""The cost of probes: one run of the native client without any probe, with each, and on an engine that has none.

All in one process and in turns, so that what else the machine does falls on all alike. A probe moves no figure.
"""

import importlib.machinery
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import portbench_engine
import pytest

from portbench.boards import Deadline
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.run import Figures, Run
from portbench.firmware.uf2 import flash_content
from portbench.server.simulated_pc import part_in
from tests.ping_pong import EVB, NATIVE_IMAGE
from tests.speed.guest import quickest_s

pytestmark = pytest.mark.engine
UNPROBED: Final = Path(__file__).parents[2] / "engine" / "target" / "unprobed" / "release"
"""Folder in which `make unprobed` builds."""
LIMIT_S: Final = 300.0
SAMPLE_CYCLES: Final = 12_500
MOST_RECORDS: Final = 4_000_000
TRACED: Final = ("irq", "lan", "pins", "cores", "wire")

Probe = Callable[[Any], object]
PROBES: Final[dict[str, Probe]] = {
    "attribution": lambda machine: machine.attribution_start(),
    "trace": lambda machine: (machine.spi_log(True), machine.trace_start(TRACED, MOST_RECORDS)),
    "sampled profile": lambda machine: machine.profile_start(SAMPLE_CYCLES),
    "exact profile": lambda machine: machine.profile_start(),
}


def unprobed_engine() -> Any | None:
    """The engine without probes; None if it is not built."""
    path = next((path for path in UNPROBED.glob("lib_native.*") if path.suffix in (".so", ".dylib")), None)
    if path is None:
        return None
    loader = importlib.machinery.ExtensionFileLoader("_native", str(path))
    spec = importlib.util.spec_from_file_location("_native", path, loader=loader)
    assert spec is not None
    engine = importlib.util.module_from_spec(spec)
    loader.exec_module(engine)
    return engine


@pytest.mark.speed
def test_cost_of_probes(figure: Callable[..., None]) -> None:
    deadline = Deadline(LIMIT_S, "probes")
    flash = flash_content(NATIVE_IMAGE, EVB.flash_bytes)
    seen: list[Figures] = []

    def way(probe: Probe | None = None, engine: Any = portbench_engine) -> Callable[[], float]:
        def cpu_s() -> float:
            run = Run(EVB, EmulatedConfig(phy_link_delay_us=1000), flash, part_in("ping_pong", {}), engine=engine)
            if probe is not None:
                probe(run.machine)
            started_s = time.thread_time()
            seen.append(run.to_end(deadline))
            return time.thread_time() - started_s

        return cpu_s

    unprobed = unprobed_engine()
    without = [] if unprobed is None else [way(engine=unprobed)]
    off_s, *on_s = quickest_s(7, way(), *map(way, PROBES.values()), *without)
    assert all(figures == seen[0] for figures in seen)
    for name, each_s in zip(PROBES, on_s, strict=False):
        figure(f"probes: {name} on against off", each_s / off_s, "x", note=f"{each_s:.3f} s against {off_s:.3f} s")
    what = "probes: all probes off against an engine without"
    if unprobed is None:
        figure(what, None, "x", note="build one: make unprobed")
    else:
        figure(what, off_s / on_s[-1], "x", note=f"{off_s:.3f} s against {on_s[-1]:.3f} s")
