"""The same on a board that stays: it restarts by its own command, leaves the bus, and comes back."""

from __future__ import annotations

import pytest

from portbench.boards.desk.faults import Fault, FaultKind, When
from portbench.runner.stages import Stage
from tests.dead_images import DeadImage
from tests.soak.conftest import MakeLane, run_cycles
from tests.soak.lane import Lane
from tests.soak.plan import SPI_HZ, Cycle, Deed, Strike

pytestmark = pytest.mark.engine
NATIVE = "portbench-native"
KILLED = Strike(Stage.RUN, Deed.PROCESS_KILLED)


def on_cable(make_lane: MakeLane) -> Lane:
    return make_lane(NATIVE, power_switch=False)


def test_rows_follow_each_other_on_a_board_that_keeps_its_power(make_lane: MakeLane) -> None:
    """It was `silicon`, and `no board usb:desk` from the second row on, while the native client ran."""
    records = run_cycles(on_cable(make_lane), *(Cycle(number, SPI_HZ[number]) for number in range(3)))
    assert [record.status for record in records] == ["measured"] * 3


@pytest.mark.parametrize(
    ("dead", "says"),
    [
        (DeadImage.STANDS_STILL, "stopped: no SPI frame for the W5500 in 8 s of simulated time"),
        (DeadImage.LOCKS_UP, "stopped: core 0 locked up at pc 0x10000280"),
        (DeadImage.RESETS, "resets in"),
    ],
)
def test_a_dead_image_is_given_up_and_the_next_row_measured(make_lane: MakeLane, dead: DeadImage, says: str) -> None:
    cycles = Cycle(0, SPI_HZ[0], Strike(Stage.IMAGE, dead)), Cycle(1, SPI_HZ[1])
    record, after = run_cycles(on_cable(make_lane), *cycles)
    assert record.status == "failed" and says in record.reason, record.reason
    assert after.status == "measured"


def test_a_board_that_somebody_killed_is_started_again(make_lane: MakeLane) -> None:
    cycles = Cycle(0, SPI_HZ[0], KILLED), Cycle(1, SPI_HZ[1])
    assert [each.status for each in run_cycles(on_cable(make_lane), *cycles)] == [
        "failed",
        "measured",
    ]


def test_what_a_killed_board_left_is_cleaned_where_no_cycle_follows(make_lane: MakeLane) -> None:
    (record,) = run_cycles(on_cable(make_lane), Cycle(0, SPI_HZ[0], KILLED))
    assert record.status == "failed"


def test_a_fault_that_counts_answers_counts_those_of_its_own_run(make_lane: MakeLane) -> None:
    gone = Strike(Stage.RUN, Fault(FaultKind.SERVER_KILLED, When.ANSWERED, 15))
    cycles = Cycle(0, SPI_HZ[0]), Cycle(1, SPI_HZ[1], gone)
    before, record = run_cycles(on_cable(make_lane), *cycles)
    # 15 since it was armed, of the 20 that a run has; the board has had 20 answers before
    assert before.status == "measured"
    assert record.struck and record.status == "failed" and "the server did not answer" in record.reason
