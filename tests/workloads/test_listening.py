"""The PC connects to boards that listen: to real firmware in simulated time, and to ports that run on it."""

import pytest

from portbench.boards import Deadline
from portbench.results.model import Row, Status
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.workloads import workload
from tests.conftest import Image
from tests.measuring import Measure
from tests.ping_pong import EVB


@pytest.fixture
def measure(own_workloads: None, measured_row: Measure) -> Measure:
    """Measures the echo server once; `settings` are the workload's."""

    def measured(runtime: str, profile: str = "hosted", **settings: int) -> Row:
        return measured_row(workload("echo_server"), runtime, profile, **settings)

    return measured


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


@pytest.mark.parametrize(
    "runtime", ["micropython-unix", pytest.param("circuitpython-blinka", marks=pytest.mark.engine)]
)
def test_a_board_that_hangs_up_fails_the_row_in_one_line(runtime: str, measure: Measure) -> None:
    row = measure(runtime, hang_up_after=1)
    assert row.status is Status.FAILED and row.reason is not None
    assert "connection 1 of 3 to " in row.reason and "\n" not in row.reason
    assert row.reason.endswith(("the board closed within block 2", "connection lost after 1 exchanges (reset)")) or (
        "connection lost after 1 exchanges (Connection reset by peer)" in row.reason
    )
