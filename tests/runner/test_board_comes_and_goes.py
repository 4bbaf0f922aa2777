"""A board that leaves the bus between rows: the next row is measured on the same one, and says what it is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import BoardUnavailable, ConsoleLost, Deadline
from portbench.boards.kinds import Kind
from portbench.results.model import Status
from portbench.runner import bench as bench_module
from portbench.runner.boards_for import open_board
from portbench.where import Where
from tests.runner.test_bench import ScriptedBoard, World, raises
from tests.runner.test_boards_for import LISTENER, NAMED


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World(tmp_path, monkeypatch)
    world.options = world.options.but(where="auto")
    yield world
    world.bench.close()


def real(script: Any = lambda stage: None) -> ScriptedBoard:
    board = ScriptedBoard(script)
    board.where = Where.SILICON
    return board


def test_auto_stays_with_the_kind_of_board_that_it_began_with(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [Where.SILICON, Where.EMULATED, Where.EMULATED]
    monkeypatch.setattr(bench_module, "where_for", lambda *_: seen.pop(0))
    world.boards = [real(raises("run", ConsoleLost("gone"))), BoardUnavailable("no board on USB"), real()]
    rows = [world.measure().row for _ in range(3)]
    assert [row.where for row in rows] == ["silicon"] * 3
    assert [row.status for row in rows] == [Status.FAILED, Status.FAILED, Status.MEASURED]


def test_what_a_named_board_is_holds_for_rows_in_which_it_cannot_be_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulated board that is off the bus: only an open one has told."""
    seen = [Where.SILICON, Where.EMULATED, Where.SILICON]
    monkeypatch.setattr(bench_module, "where_for", lambda *_: seen.pop(0))
    world.boards = [
        BoardUnavailable("not there yet"),
        ScriptedBoard(raises("run", ConsoleLost("gone"))),
        BoardUnavailable("off the bus"),
    ]
    named = replace(world.planned(), device="id:E660")
    assert [world.measure(named).row.where for _ in range(3)] == ["silicon", "emulated", "emulated"] and len(seen) == 1


def test_only_a_board_that_was_there_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    opened = world._open
    monkeypatch.setattr(bench_module, "where_for", lambda *_: Where.SILICON)
    monkeypatch.setattr(
        bench_module, "open_board", lambda *arguments: (asked.append(arguments[4]), opened(*arguments))[1]
    )
    world.boards = [BoardUnavailable("no board"), real(raises("run", ConsoleLost("gone"))), real()]
    for _ in range(3):
        world.measure()
    assert asked == [False, False, True]


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, "open", clock=lambda: self.now_s, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_waiting_ends_when_the_board_is_back_or_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    board = ScriptedBoard()

    def once(*arguments: Any) -> ScriptedBoard:
        if clock.now_s < 5:
            raise BoardUnavailable(f"no board at {clock.now_s:.1f} s")
        return board

    monkeypatch.setattr(Kind, "open", once)
    asked = (NAMED, Where.SILICON)
    with pytest.raises(BoardUnavailable, match=r"no board at 0\.0 s"):
        open_board(*asked, clock.deadline(30), LISTENER)
    with pytest.raises(BoardUnavailable, match=r"no board at 3\.0 s"):
        open_board(*asked, clock.deadline(3), LISTENER, True)
    assert open_board(*asked, clock.deadline(30), LISTENER, True) is board
    assert clock.now_s == pytest.approx(5, abs=0.3)
