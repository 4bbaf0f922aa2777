"""The steps on a board, in order, and what a second run spares it."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from portbench.boards import Deadline, DeadlineExceeded, Deployment, RuntimeIdentity
from portbench.errors import BoardError
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Identity
from portbench.runner.kinds.row import ReadyRow
from portbench.runner.stages import DEFAULT_S, PreparedBoard, Program, Stage, StageClock, check_runtime
from tests.ping_pong import PING_PONG, settings
from tests.runner.test_bench import ScriptedBoard

ANSWER = RuntimeIdentity("micropython", "1.26.0", "", "W5500-EVB-Pico with RP2040")
IDENTITY = Identity(Family.MICROPYTHON, "1.26.0", "W5500-EVB-Pico with RP2040", {})


class RecordingBoard(ScriptedBoard):
    """Notes each step."""

    def __init__(self, answer: RuntimeIdentity = ANSWER) -> None:
        super().__init__(self._note)
        self.done: list[str] = []
        self.answer = answer

    def _note(self, step: str) -> RuntimeIdentity | None:
        self.done.append(step)
        return self.answer if step == "identify" else None

    def serve(self, workload: str, settings: Mapping[str, Any], deadline: Deadline) -> None:
        self.done.append(f"serve {workload} {settings['messages']}")


def program(sha: str = "aa", file: str = "main.py", has_console: bool = True) -> Program:
    image: Any = SimpleNamespace(data=b"an image", sha256=sha, identity=IDENTITY)
    return Program(image, Deployment({file: b""}, "micropython"), has_console)


def clock(seen: list[Stage] | None = None) -> StageClock:
    return StageClock("row", DEFAULT_S, (seen if seen is not None else []).append)


def ready(prepared: PreparedBoard, seen: list[Stage]) -> ReadyRow:
    unused: Any = None
    entry = SimpleNamespace(family=Family.NATIVE)
    planned: Any = SimpleNamespace(workload=PING_PONG, settings=settings(7), entry=entry)
    return ReadyRow(
        planned=planned,
        draft=unused,
        prepared=prepared,
        jitter=None,
        image_of=unused,
        servers=unused,
        partner_board=unused,
        clock=clock(seen),
        printed=lambda line: None,
        scratch=unused,
        only_reporter=unused,
    )


def test_the_whole_way_in_order() -> None:
    board, seen = RecordingBoard(), list[Stage]()
    prepared = PreparedBoard(board)
    prepared.prepare(program(), clock(seen))
    ready(prepared, seen).run()
    assert board.done == ["flash", "console", "identify", "deploy", "serve ping_pong 7", "run"]
    assert board.deployed is not None and list(board.deployed.files) == ["main.py"]
    assert seen == [Stage.FLASH, Stage.CONSOLE, Stage.IDENTIFY, Stage.DEPLOY, Stage.RUN]
    assert prepared.runtime == ANSWER


def test_the_pc_serves_nothing_that_it_has_no_part_in() -> None:
    board = RecordingBoard()
    ready(PreparedBoard(board), []).run(serve=False)
    assert board.done == ["run"]


@pytest.mark.parametrize(
    ("following", "done"),
    [
        ({}, []),
        ({"file": "other.py"}, ["deploy"]),
        ({"sha": "bb"}, ["flash", "console", "identify", "deploy"]),
    ],
)
def test_a_second_run_does_only_what_differs(following: dict[str, str], done: list[str]) -> None:
    board = RecordingBoard()
    prepared = PreparedBoard(board)
    prepared.prepare(program(), clock())
    board.done.clear()
    prepared.prepare(program(**following), clock())  # type: ignore[arg-type]
    assert board.done == done


def test_firmware_without_console_is_not_asked() -> None:
    board = RecordingBoard()
    PreparedBoard(board).prepare(program(has_console=False), clock())
    assert board.done == ["flash", "deploy"]


def test_the_wrong_runtime_is_never_deployed_to() -> None:
    board = RecordingBoard(RuntimeIdentity("micropython", "1.20.0", "", ""))
    with pytest.raises(
        BoardError, match=r"^scripted: flashed micropython 1\.26\.0, but micropython 1\.20\.0 on a board"
    ):
        PreparedBoard(board).prepare(program(), clock())
    assert "deploy" not in board.done


@pytest.mark.parametrize(
    ("flashed", "answered", "right"),
    [
        (IDENTITY, ANSWER, True),
        (
            Identity(Family.WIZNET, "1.20.0-370-g7bfc22571-dirty", None, {}),
            RuntimeIdentity("micropython", "1.20.0", "", ""),
            True,
        ),
        (Identity(Family.CIRCUITPYTHON, "9.1.4", None, {}), RuntimeIdentity("circuitpython", "9.1.4", "", "x"), True),
        (Identity(None, None, None, {}), ANSWER, True),
        (Identity(Family.CIRCUITPYTHON, "9.1.4", None, {}), ANSWER, False),
        (Identity(Family.MICROPYTHON, "1.26.0", "W5100S-EVB-Pico with RP2040", {}), ANSWER, False),
        (Identity(Family.MICROPYTHON, "1.26.1", None, {}), ANSWER, False),
    ],
)
def test_what_counts_as_the_flashed_runtime(flashed: Identity, answered: RuntimeIdentity, right: bool) -> None:
    if right:
        check_runtime(flashed, answered, RecordingBoard())
    else:
        with pytest.raises(BoardError):
            check_runtime(flashed, answered, RecordingBoard())


def test_a_stop_ends_the_stage_and_each_later_one() -> None:
    stopped = clock()
    flashing = stopped.stage(Stage.FLASH)
    assert not flashing.expired
    stopped.stop()
    assert flashing.expired and stopped.stage(Stage.RUN).expired


def test_a_deadline_names_row_and_stage() -> None:
    error = clock().stage(Stage.FLASH).exceeded("the volume")
    assert isinstance(error, DeadlineExceeded)
    assert str(error) == "row: flash: still waiting for the volume after 120 s"
