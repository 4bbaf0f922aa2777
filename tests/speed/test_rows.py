"""CPU time of whole rows, from the power cycle to the result, measured as `portbench run` measures them.

The rows of a Pico W and of a Pico 2 have to be faster than the boards: those that keep gSPI busiest, and the first.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from portbench.workloads import workload
from tests.measuring import measured

pytestmark = pytest.mark.engine
PICO2: Final = "wiznet-w5500-evb-pico2-1.27.0-preview.85"
WHOLE: Final = [
    ("wiznet-hardwired", "tuned", "ping_pong", {"below_s": 2}),
    ("micropython-1.26.0", "tuned", "ping_pong", {}),
    ("micropython-1.26.0", "as-published", "ping_pong", {}),
    *(("micropython-1.26.0", "tuned", name, {}) for name in ("http", "bulk", "duplex")),
    ("circuitpython-9.1.4", "as-published", "ping_pong", {"below_s": 60}),
]
"""Runtime, profile and workload, and its bound."""
BESIDE_THE_CHIP: Final = [
    *(("micropython-pico-w-1.26.1", "as-built", name) for name in ("ping_pong", "http", "bulk", "duplex", "udp")),
    *(("circuitpython-pico-w-8.0.5", "as-built", name) for name in ("ping_pong", "http", "bulk")),
    *((PICO2, "tuned", name) for name in ("ping_pong", "http", "bulk", "duplex")),
    (PICO2, "as-published", "interpreter"),
]


@pytest.mark.parametrize(
    ("runtime", "profile", "name", "required"),
    [
        ("portbench-native", "tuned", "ping_pong", {}),
        *(pytest.param(*row, marks=pytest.mark.speed) for row in WHOLE),
        *(pytest.param(*row, {"at_least_times": 1}, marks=pytest.mark.speed) for row in BESIDE_THE_CHIP),
    ],
)
def test_row(
    runtime: str,
    profile: str,
    name: str,
    required: dict[str, float],
    tmp_path: Path,
    short: bool,
    figure: Callable[..., None],
) -> None:
    of = {"runtimes": (runtime,), "profiles": (profile,), "workloads": (workload(name),)}
    (row,) = measured(tmp_path, **of, quick=short)
    assert row.sim is not None and row.sim.host_s is not None
    simulated_s, host_s = row.sim.counters["simulated_us"] / 1e6, row.sim.host_s
    what = f"{runtime} {profile}: {name}"
    times, note = simulated_s / host_s, f"{simulated_s:.2f} s on the chip"
    if "at_least_times" in required:
        least = required["at_least_times"]
        figure(what, times, "x real time", at_least=least, note=f"{note} in {host_s:.2f} s")
    else:
        figure(what, host_s, "s", below=required.get("below_s"), note=f"{note}, {times:.2f} x real time")
