"""The simulated PC connects to real firmware: only simulated time decides when, so that every figure repeats."""

from __future__ import annotations

from typing import Any

import pytest

from portbench.boards import Deadline
from portbench.boards.emulated.replay import Replay
from portbench.results.model import Row, Status
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.replayed import ReplayedRow
from portbench.runner.trace.record import trace_row
from portbench.workloads import workload
from tests.conftest import Image
from tests.listening.conftest import Measure
from tests.ping_pong import EVB

pytestmark = pytest.mark.engine

ROWS = [
    ("wiznet-hardwired", "tuned", 1),
    ("wiznet-hardwired", "tuned", 2),
    ("micropython-1.26.0", "tuned", 1),
    ("micropython-1.26.0", "tuned", 2),
    # adafruit_wiznet5k 7.4.5 gives up where a connection comes while it opens its next listening socket.
    ("circuitpython-9.1.4", "as-published", 1),
]


def figures(row: Row) -> dict[str, Any]:
    assert row.status is Status.MEASURED and row.sim is not None, row.reason
    return {
        "figures": row.figures,
        "samples": row.samples,
        "flash": row.sim.flash_sha256,
        "counters": row.sim.counters,
    }


@pytest.mark.parametrize(("runtime", "profile", "at_once"), ROWS)
def test_two_fresh_boards_give_the_same_figures(
    runtime: str, profile: str, at_once: int, image: Image, measure: Measure
) -> None:
    image(runtime)
    first, second = (figures(measure(runtime, profile, connections=4, at_once=at_once)) for _ in range(2))
    assert first == second and len(first["samples"]["connect_us"]) == 4


def test_a_hardwired_board_is_silent_where_its_driver_hangs_up(image: Image, measure: Measure) -> None:
    """ioLibrary closes without FIN: the PC cannot know, and gives up after a while of simulated time."""
    image("wiznet-hardwired")
    row = measure("wiznet-hardwired", "tuned", connections=2, hang_up_after=1)
    assert row.status is Status.FAILED and row.reason is not None
    assert "connection 1 of 2 to 192.168.50." in row.reason
    assert "connection lost after 1 exchanges (reset)" in row.reason or "no byte for 30 s" in row.reason


@pytest.mark.usefixtures("own_workloads")
def test_a_replay_and_a_traced_one_are_the_same_run(image: Image) -> None:
    image("wiznet-hardwired")
    settings = {"connections": 3, "at_once": 2, "blocks": 4}
    options = BenchOptions(
        runtimes=("wiznet-hardwired",),
        profiles=("tuned",),
        workloads=(workload("echo_server"),),
        where="emulated",
        runs=1,
        settings=settings,
    )
    (row,) = plan(options)
    replayed = ReplayedRow(row, options)
    config, flash = replayed.prepared
    first, second = (Replay(EVB, config, flash, "echo_server", settings).run(Deadline(60, "replay")) for _ in range(2))
    assert first == second and [session.exchanges for session in first.sessions] == [4, 4, 4]
    assert trace_row(replayed, 2).frames
