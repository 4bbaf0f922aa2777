"""Faults in a row: it recovers or says why not in one line, and the next one runs."""

from typing import Any

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.boards.desk.faults import Fault, FaultKind, When
from portbench.boards.usb.run import answers, recover
from portbench.firmware import uf2
from portbench.runner.stages import Stage
from tests.conftest import Image
from tests.dead_images import DeadImage
from tests.soak.conftest import MakeLane, run_cycles, two_cycles
from tests.soak.plan import SPI_HZ, Cycle, Deed, Strike

pytestmark = pytest.mark.engine
NATIVE = {"runtime": "portbench-native"}
ON_CABLE = NATIVE | {"power_switch": False}
"""A board that stays: it restarts by its own command, leaves the bus, and comes back."""
PYTHON = {"runtime": "wiznet-hardwired"}
"""A board with a console, where faults strike in the middle of a line, at every stage of a row."""


def in_flash(kind: FaultKind, amount: int = 0) -> Strike:
    return Strike(Stage.FLASH, Fault(kind, amount=amount))


def in_run(kind: FaultKind, duration_ms: int = 0, amount: int = 0, after: int = 9) -> Strike:
    return Strike(Stage.RUN, Fault(kind, When.ANSWERED, after, duration_ms, amount, seed=7))


def printed(stage: Stage, kind: FaultKind, after: int, duration_ms: int = 0, amount: int = 0) -> Strike:
    return Strike(stage, Fault(kind, When.PRINTED, after, duration_ms, amount))


def enumerated(kind: FaultKind, duration_ms: int = 0) -> Strike:
    """When the boot loader appears. A native row finds its board there already."""
    return Strike(Stage.FLASH, Fault(kind, When.ENUMERATED, 1, duration_ms))


def name(value: object) -> str:
    return f"{value.stage}-{value.kind}" if isinstance(value, Strike) else ""


@pytest.mark.parametrize(
    ("board", "strike", "words"),
    [
        (NATIVE, in_flash(FaultKind.VOLUME_READ_ONLY), ["flash:", "does not take native.uf2"]),
        (NATIVE, in_flash(FaultKind.VOLUME_FULL), ["flash:", "No space left on device"]),
        (NATIVE, in_flash(FaultKind.VOLUME_TORN, amount=10), ["run:", "without a report", "did not arrive whole"]),
        (NATIVE, in_flash(FaultKind.VOLUME_TORN, amount=700), ["run:", "measured 1000 messages, not 20"]),
        (NATIVE, in_run(FaultKind.GUEST_CRASH), ["run:", "stage exchange", "the watchdog restarted the board"]),
        (NATIVE, in_run(FaultKind.SERVER_KILLED), ["run:", "without a report", "the server did not answer"]),
        (NATIVE, Strike(Stage.FLASH, Deed.PROCESS_KILLED), ["flash: ", "process ended"]),
        (NATIVE, Strike(Stage.RUN, Deed.PROCESS_KILLED), ["run: ", "process ended"]),
        (ON_CABLE, Strike(Stage.RUN, Deed.PROCESS_KILLED), ["run: ", "process ended"]),
        (
            ON_CABLE,
            Strike(Stage.IMAGE, DeadImage.STANDS_STILL),
            ["run: ", "stopped: no SPI frame for the W5500 in 8 s of simulated time"],
        ),
        (PYTHON, printed(Stage.IDENTIFY, FaultKind.SERIAL_DROPPED, 40), ["identify:", "went away"]),
        (PYTHON, printed(Stage.DEPLOY, FaultKind.SERIAL_DROPPED, 400, duration_ms=200), ["deploy:"]),
        (PYTHON, printed(Stage.RUN, FaultKind.SERIAL_DROPPED, 60, duration_ms=200), ["run:", "went away"]),
        (PYTHON, in_run(FaultKind.SERVER_KILLED, after=5), ["run:", "the client failed in stage run: OSError"]),
    ],
    ids=name,
)
def test_a_row_that_cannot_be_measured_says_why(
    make_lane: MakeLane, board: dict[str, Any], strike: Strike, words: list[str]
) -> None:
    record = two_cycles(make_lane(**board), strike)
    assert record.status == "failed" and record.reason.startswith(words[0]), record.reason
    assert all(word in record.reason for word in words), record.reason


GIVEN_UP = (
    "still waiting for the native client's report after 5 s",
    # Simulated time outruns a host that has time for it: then the board or the client gives up before the harness does.
    "came back as boot loader without a report",
)


@pytest.mark.parametrize(
    ("board", "run_s", "strike", "said"),
    [
        (NATIVE, 5, in_run(FaultKind.PACKETS_LOST, amount=1000), GIVEN_UP),
        (
            PYTHON,
            10,
            printed(Stage.RUN, FaultKind.CONSOLE_SILENT, 60),
            ("still waiting for the client's result line after 10 s",),
        ),
    ],
    ids=name,
)
def test_a_row_that_nothing_ends_fails_at_its_deadline(
    make_lane: MakeLane, board: dict[str, Any], run_s: int, strike: Strike, said: tuple[str, ...]
) -> None:
    record = two_cycles(make_lane(**board, run_s=run_s), strike)
    assert record.status == "failed"
    assert record.reason.startswith("run: ") and any(words in record.reason for words in said), record.reason


@pytest.mark.parametrize(
    "strike",
    [
        in_run(FaultKind.CORES_RESET),
        in_run(FaultKind.POWER_LOST),
        in_run(FaultKind.LINK_DOWN, duration_ms=300),
        in_run(FaultKind.PACKETS_LOST, amount=300, duration_ms=1000),
        in_run(FaultKind.PACKETS_DELAYED, amount=50_000),
        Strike(Stage.FLASH, Deed.SECOND_HARNESS),
        Strike(Stage.RUN, Deed.SECOND_HARNESS),
    ],
    ids=name,
)
def test_a_row_recovers(make_lane: MakeLane, strike: Strike) -> None:
    assert two_cycles(make_lane(**NATIVE), strike).status == "measured"


def test_rows_recover_one_after_the_other(make_lane: MakeLane) -> None:
    hits = [
        printed(Stage.CONSOLE, FaultKind.SERIAL_DROPPED, 10, duration_ms=500),
        printed(Stage.CONSOLE, FaultKind.CONSOLE_SILENT, 5, duration_ms=3000),
        printed(Stage.CONSOLE, FaultKind.BYTES_LOST, 5, amount=30),
        Strike(Stage.CONSOLE, Fault(FaultKind.TYPED_LOST, When.TYPED, 1, amount=4)),
        in_flash(FaultKind.PORT_RENAMED),
        enumerated(FaultKind.ENUMERATION_SLOW, duration_ms=1000),
        enumerated(FaultKind.SERIAL_DROPPED, duration_ms=700),
        enumerated(FaultKind.POWER_LOST),
        printed(Stage.RUN, FaultKind.BYTES_LOST, 5, amount=20),
        None,
    ]
    cycles = [Cycle(place, SPI_HZ[1 + place % 2], hit) for place, hit in enumerate(hits)]
    records = run_cycles(make_lane(**PYTHON), *cycles)
    told = [(record.number, record.struck, record.status) for record in records]
    assert told == [(place, hit is not None, "measured") for place, hit in enumerate(hits)]


@pytest.mark.parametrize(
    ("board", "stage"),
    [
        *((NATIVE, stage) for stage in (Stage.OPEN, Stage.FLASH, Stage.RUN)),
        *((PYTHON, stage) for stage in (Stage.CONSOLE, Stage.IDENTIFY, Stage.DEPLOY, Stage.RUN)),
    ],
)
def test_ctrl_c_keeps_earlier_rows_and_leaves_nothing(make_lane: MakeLane, board: dict[str, Any], stage: Stage) -> None:
    # A board that is kept is not opened again.
    before = [Cycle(0, SPI_HZ[0])] if board is NATIVE and stage is not Stage.OPEN else []
    ctrl_c = Cycle(1, SPI_HZ[1], Strike(stage, Deed.CTRL_C, delay_ms=15))
    records = run_cycles(make_lane(**board), *before, ctrl_c, Cycle(2, SPI_HZ[2]))
    assert [record.status for record in records] == ["measured"] * len(before) + ["interrupted", "measured"]


def test_rows_follow_each_other_on_a_board_that_keeps_its_power(make_lane: MakeLane) -> None:
    """It was `silicon`, and `no board usb:desk` from the second row on, while the native client ran."""
    records = run_cycles(make_lane(**ON_CABLE), *(Cycle(number, SPI_HZ[number]) for number in range(3)))
    assert [record.status for record in records] == ["measured"] * 3


def test_what_a_killed_board_left_is_cleaned_where_no_cycle_follows(make_lane: MakeLane) -> None:
    (record,) = run_cycles(make_lane(**ON_CABLE), Cycle(0, SPI_HZ[0], Strike(Stage.RUN, Deed.PROCESS_KILLED)))
    assert record.status == "failed"


def test_a_fault_that_counts_answers_counts_those_of_its_own_run(make_lane: MakeLane) -> None:
    cycles = Cycle(0, SPI_HZ[0]), Cycle(1, SPI_HZ[1], in_run(FaultKind.SERVER_KILLED, after=15))
    before, record = run_cycles(make_lane(**ON_CABLE), *cycles)
    # 15 since it was armed, of the 20 that a run has; the board has had 20 answers before
    assert before.status == "measured"
    assert record.struck and record.status == "failed" and "the server did not answer" in record.reason


def test_a_crashed_interpreter_comes_back_by_hard_reset(make_lane: MakeLane, image: Image) -> None:
    """Neither Ctrl-C nor Ctrl-D reach it: the ladder has to be climbed to where the power is."""
    lane = make_lane(**PYTHON)
    definition = board_definition("W5500_EVB_PICO")
    (start, content), *_ = uf2.read(image(PYTHON["runtime"])).flash_bytes().items()
    assert start == uf2.FLASH_BASE
    raw = lane.folder / "flash.bin"
    raw.write_bytes(content)
    lines: list[str] = []
    with DeskBoard.started(definition, None, f"--flash={raw}", log=lines.append) as board:
        deadline = Deadline(60, "test")
        answers(board.link, deadline)
        board.control("arm", deadline, fault=Fault(FaultKind.GUEST_CRASH).settings())
        deadline.poll(lambda: board.control("status", deadline)["struck"], 0.02, "the crash")
        assert recover(board.link, None, deadline) == "hard reset"
    raw.unlink()
    assert [line.split(":")[1].strip() for line in lines if line.startswith("recovery")] == [
        "interrupt",
        "soft reset",
        "hard reset",
    ]
