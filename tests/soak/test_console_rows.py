"""What goes wrong at the console of a Python runtime: in the middle of a line, at every stage of a row."""

from __future__ import annotations

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.boards.desk.faults import Fault, FaultKind, When
from portbench.boards.usb.run import answers, recover
from portbench.firmware import uf2
from portbench.runner.stages import Stage
from tests.conftest import Image
from tests.soak.conftest import MakeLane, run_cycles, two_cycles
from tests.soak.plan import SPI_HZ, Cycle, Deed, Strike

pytestmark = pytest.mark.engine
RUNTIME = "wiznet-hardwired"


def strike(stage: Stage, kind: FaultKind, after: int, duration_ms: int = 0, amount: int = 0) -> Strike:
    when = When.TYPED if kind is FaultKind.TYPED_LOST else When.PRINTED
    if kind in (FaultKind.PORT_RENAMED, FaultKind.GUEST_CRASH):
        when = When.NOW
    elif stage is Stage.FLASH:
        when = When.ENUMERATED
    return Strike(stage, Fault(kind, when, after, duration_ms, amount))


def test_rows_recover_one_after_the_other(make_lane: MakeLane) -> None:
    hits = [
        strike(Stage.CONSOLE, FaultKind.SERIAL_DROPPED, 10, duration_ms=500),
        strike(Stage.CONSOLE, FaultKind.CONSOLE_SILENT, 5, duration_ms=3000),
        strike(Stage.CONSOLE, FaultKind.BYTES_LOST, 5, amount=30),
        strike(Stage.CONSOLE, FaultKind.TYPED_LOST, 1, amount=4),
        strike(Stage.FLASH, FaultKind.PORT_RENAMED, 0),
        # When the boot loader appears. A native row finds its board there already.
        strike(Stage.FLASH, FaultKind.ENUMERATION_SLOW, 1, duration_ms=1000),
        strike(Stage.FLASH, FaultKind.SERIAL_DROPPED, 1, duration_ms=700),
        strike(Stage.FLASH, FaultKind.POWER_LOST, 1),
        strike(Stage.RUN, FaultKind.BYTES_LOST, 5, amount=20),
        None,
    ]
    records = run_cycles(
        make_lane(RUNTIME), *(Cycle(place, SPI_HZ[1 + place % 2], hit) for place, hit in enumerate(hits))
    )
    told = [(record.number, record.struck, record.status) for record in records]
    assert told == [(place, hit is not None, "measured") for place, hit in enumerate(hits)]


@pytest.mark.parametrize(
    ("hit", "words"),
    [
        (strike(Stage.IDENTIFY, FaultKind.SERIAL_DROPPED, 40), ["identify:", "went away"]),
        (strike(Stage.DEPLOY, FaultKind.SERIAL_DROPPED, 400, duration_ms=200), ["deploy:"]),
        (strike(Stage.RUN, FaultKind.SERIAL_DROPPED, 60, duration_ms=200), ["run:", "went away"]),
    ],
    ids=lambda value: f"{value.stage}-{value.kind}" if isinstance(value, Strike) else "",
)
def test_a_row_that_cannot_be_measured_says_why(make_lane: MakeLane, hit: Strike, words: list[str]) -> None:
    record = two_cycles(make_lane(RUNTIME), hit)
    assert record.status == "failed"
    assert all(word in record.reason for word in words), record.reason


def test_a_row_that_nothing_ends_fails_at_its_deadline(make_lane: MakeLane) -> None:
    record = two_cycles(make_lane(RUNTIME, run_s=10), strike(Stage.RUN, FaultKind.CONSOLE_SILENT, 60))
    assert record.status == "failed"
    assert "run: still waiting for the client's result line after 10 s" in record.reason


def test_a_server_that_is_gone_is_the_clients_to_tell(make_lane: MakeLane) -> None:
    fault = Fault(FaultKind.SERVER_KILLED, When.ANSWERED, 5)
    record = two_cycles(make_lane(RUNTIME), Strike(Stage.RUN, fault))
    assert record.status == "failed" and "the client failed in stage run: OSError" in record.reason


@pytest.mark.parametrize("stage", [Stage.CONSOLE, Stage.IDENTIFY, Stage.DEPLOY, Stage.RUN])
def test_ctrl_c_leaves_nothing(make_lane: MakeLane, stage: Stage) -> None:
    ctrl_c = Strike(stage, Deed.CTRL_C, delay_ms=15)
    records = run_cycles(make_lane(RUNTIME), Cycle(0, SPI_HZ[1], ctrl_c), Cycle(1, SPI_HZ[2]))
    assert [record.status for record in records] == ["interrupted", "measured"]


def test_a_crashed_interpreter_comes_back_by_hard_reset(make_lane: MakeLane, image: Image) -> None:
    """Neither Ctrl-C nor Ctrl-D reach it: the ladder has to be climbed to where the power is."""
    lane = make_lane(RUNTIME)
    definition = board_definition("W5500_EVB_PICO")
    (start, content), *_ = uf2.read(image(RUNTIME)).flash_bytes().items()
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
