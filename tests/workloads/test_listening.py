"""The PC connects to boards that listen: to real firmware in simulated time, and to ports that run on it."""

from __future__ import annotations

from typing import Any

import pytest

from portbench.boards import Deadline
from portbench.results.model import Row, Status
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.workloads import workload
from tests.conftest import Image
from tests.measuring import Measure
from tests.measuring import measured_row as measured_row
from tests.ping_pong import EVB

ROWS = [
    ("wiznet-hardwired", "tuned", 1),
    ("wiznet-hardwired", "tuned", 2),
    ("micropython-1.26.0", "tuned", 1),
    ("micropython-1.26.0", "tuned", 2),
    # adafruit_wiznet5k 7.4.5 gives up where a connection comes while it opens its next listening socket.
    ("circuitpython-9.1.4", "as-published", 1),
]


@pytest.fixture
def measure(own_workloads: None, measured_row: Measure) -> Measure:
    """Measures the echo server once; `settings` are the workload's."""

    def measured(runtime: str, profile: str = "hosted", **settings: int) -> Row:
        return measured_row(workload("echo_server"), runtime, profile, **settings)

    return measured


def figures(row: Row) -> dict[str, Any]:
    assert row.status is Status.MEASURED and row.sim is not None, row.reason
    return {
        "figures": row.figures,
        "samples": row.samples,
        "flash": row.sim.flash_sha256,
        "counters": row.sim.counters,
    }


@pytest.mark.engine
@pytest.mark.parametrize(("runtime", "profile", "at_once"), ROWS)
def test_two_fresh_boards_give_the_same_figures(
    runtime: str, profile: str, at_once: int, image: Image, measure: Measure
) -> None:
    image(runtime)
    first, second = (figures(measure(runtime, profile, connections=4, at_once=at_once)) for _ in range(2))
    assert first == second and len(first["samples"]["connect_us"]) == 4


@pytest.mark.engine
def test_a_hardwired_board_is_silent_where_its_driver_hangs_up(image: Image, measure: Measure) -> None:
    """ioLibrary closes without FIN: the PC cannot know, and gives up after a while of simulated time."""
    image("wiznet-hardwired")
    row = measure("wiznet-hardwired", "tuned", connections=2, hang_up_after=1)
    assert row.status is Status.FAILED and row.reason is not None
    assert "connection 1 of 2 to 192.168.50." in row.reason
    assert "connection lost after 1 exchanges (reset)" in row.reason or "no byte for 30 s" in row.reason


@pytest.mark.engine
@pytest.mark.usefixtures("own_workloads")
def test_a_replay_and_a_traced_one_are_the_same_run(image: Image) -> None:
    from portbench.boards.emulated.replay import Replay
    from portbench.runner.replayed import ReplayedRow
    from portbench.runner.trace.record import trace_row

    image("wiznet-hardwired")
    settings = {"connections": 3, "at_once": 2, "blocks": 4}
    options = BenchOptions().but(
        runtimes=("wiznet-hardwired",),
        profiles=("tuned",),
        workloads=(workload("echo_server"),),
        where="emulated",
        runs=1,
        settings=settings,
    )
    (row,) = plan(options)
    replayed = ReplayedRow(row)
    config, flash = replayed.prepared
    first, second = (Replay(EVB, config, flash, "echo_server", settings).run(Deadline(60, "replay")) for _ in range(2))
    assert first == second and [session.exchanges for session in first.sessions] == [4, 4, 4]
    assert trace_row(replayed, 2).frames


RUNTIMES = ["micropython-unix", pytest.param("circuitpython-blinka", marks=pytest.mark.engine)]


def connect_us(row: Row) -> list[float]:
    assert row.status is Status.MEASURED, row.reason
    return row.samples["connect_us"]


@pytest.mark.parametrize(
    ("runtime", "at_once"),
    [
        ("micropython-unix", 2),
        # One at a time: the driver may lose one that arrives while it opens its next socket (README of http).
        pytest.param("circuitpython-blinka", 1, marks=pytest.mark.engine),
    ],
)
def test_all_connections_are_served(runtime: str, at_once: int, measure: Measure) -> None:
    row = measure(runtime, connections=5, at_once=at_once, blocks=3)
    assert len(connect_us(row)) == 5 and all(us > 0 for us in row.samples["first_byte_us"])
    assert row.figures["connections_per_s"] == 5e6 / row.figures["total_us"] and row.figures["ready_us"] > 0
    assert row.conditions.turnaround_us is not None


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_board_that_hangs_up_fails_the_row_in_one_line(runtime: str, measure: Measure) -> None:
    row = measure(runtime, hang_up_after=1)
    assert row.status is Status.FAILED and row.reason is not None
    assert "connection 1 of 3 to " in row.reason and "\n" not in row.reason
    assert row.reason.endswith(("the board closed within block 2", "connection lost after 1 exchanges (reset)")) or (
        "connection lost after 1 exchanges (Connection reset by peer)" in row.reason
    )
