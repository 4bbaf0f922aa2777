"""What goes wrong in a row of the native client: it recovers or says why not in one line, and the next one runs."""

from __future__ import annotations

import pytest

from portbench.boards.desk.faults import Fault, FaultKind, When
from portbench.runner.stages import Stage
from tests.soak.conftest import MakeLane, run_cycles, two_cycles
from tests.soak.plan import SPI_HZ, Cycle, Deed, Strike

pytestmark = pytest.mark.engine
NATIVE = "portbench-native"


def in_flash(kind: FaultKind, amount: int = 0) -> Strike:
    return Strike(Stage.FLASH, Fault(kind, amount=amount))


def in_run(kind: FaultKind, duration_ms: int = 0, amount: int = 0, after: int = 9) -> Strike:
    return Strike(Stage.RUN, Fault(kind, When.ANSWERED, after, duration_ms, amount, seed=7))


@pytest.mark.parametrize(
    ("strike", "words"),
    [
        (in_flash(FaultKind.VOLUME_READ_ONLY), ["flash:", "does not take native.uf2"]),
        (in_flash(FaultKind.VOLUME_FULL), ["flash:", "No space left on device"]),
        (in_flash(FaultKind.VOLUME_TORN, amount=10), ["run:", "without a report", "did not arrive whole"]),
        (in_flash(FaultKind.VOLUME_TORN, amount=700), ["run:", "measured 1000 messages, not 20"]),
        (in_run(FaultKind.GUEST_CRASH), ["run:", "stage exchange", "the watchdog restarted the board"]),
        (in_run(FaultKind.LINK_DOWN, duration_ms=5500), ["run:", "stage exchange", "no answer within"]),
        (in_run(FaultKind.SERVER_KILLED), ["run:", "without a report", "the server did not answer"]),
    ],
    ids=lambda value: value.kind if isinstance(value, Strike) else "",
)
def test_a_row_that_cannot_be_measured_says_why(make_lane: MakeLane, strike: Strike, words: list[str]) -> None:
    record = two_cycles(make_lane(NATIVE), strike)
    assert record.status == "failed"
    assert all(word in record.reason for word in words), record.reason


@pytest.mark.parametrize(
    "strike",
    [in_run(FaultKind.LINK_DOWN), in_run(FaultKind.PACKETS_LOST, amount=1000)],
    ids=lambda value: value.kind,
)
def test_a_row_that_nothing_ends_fails_at_its_deadline(make_lane: MakeLane, strike: Strike) -> None:
    record = two_cycles(make_lane(NATIVE, run_s=5), strike)
    assert record.status == "failed"
    # Simulated time outruns a host that has time for it: then the board or the client gives up before the harness does.
    said = (
        "still waiting for the native client's report after 5 s",
        "came back as boot loader without a report",
        "stopped: no link for 8 s of simulated time",
    )
    assert record.reason.startswith("run: ") and any(words in record.reason for words in said), record.reason


@pytest.mark.parametrize(
    "strike",
    [
        in_run(FaultKind.CORES_RESET),
        in_run(FaultKind.POWER_LOST),
        in_run(FaultKind.LINK_DOWN, duration_ms=300),
        in_run(FaultKind.PACKETS_LOST, amount=300, duration_ms=1000),
        in_run(FaultKind.PACKETS_DELAYED, amount=50_000),
    ],
    ids=lambda value: value.kind,
)
def test_a_row_recovers(make_lane: MakeLane, strike: Strike) -> None:
    assert two_cycles(make_lane(NATIVE), strike).status == "measured"


@pytest.mark.parametrize("stage", [Stage.FLASH, Stage.RUN])
def test_a_second_harness_is_refused_and_disturbs_nothing(make_lane: MakeLane, stage: Stage) -> None:
    record = two_cycles(make_lane(NATIVE), Strike(stage, Deed.SECOND_HARNESS))
    assert record.status == "measured"


@pytest.mark.parametrize("stage", [Stage.FLASH, Stage.RUN])
def test_a_board_whose_process_is_killed_fails_its_row_alone(make_lane: MakeLane, stage: Stage) -> None:
    record = two_cycles(make_lane(NATIVE), Strike(stage, Deed.PROCESS_KILLED))
    assert record.status == "failed" and record.reason.startswith(f"{stage}: ") and "process ended" in record.reason


@pytest.mark.parametrize("stage", [Stage.OPEN, Stage.FLASH, Stage.RUN])
def test_ctrl_c_keeps_earlier_rows_and_leaves_nothing(make_lane: MakeLane, stage: Stage) -> None:
    before = [] if stage is Stage.OPEN else [Cycle(0, SPI_HZ[0])]  # a board that is kept is not opened again
    ctrl_c = Cycle(1, SPI_HZ[1], Strike(stage, Deed.CTRL_C, delay_ms=20))
    records = run_cycles(make_lane(NATIVE), *before, ctrl_c, Cycle(2, SPI_HZ[2]))
    assert [record.status for record in records] == ["measured"] * len(before) + ["interrupted", "measured"]
