"""The default number of boards, and what runs on which."""

from __future__ import annotations

import os

import pytest

from portbench.runner.jobs.measure import units_of, usual_parallel
from portbench.runner.jobs.pool import program_of
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan

TWO = ("micropython-1.26.0", "wiznet-hardwired")


@pytest.mark.parametrize(
    ("options", "boards"),
    [
        (BenchOptions(where="emulated", runtimes=TWO), 3),
        (BenchOptions(where="emulated", runtimes=("portbench-native",), runs=9), 1),
        (BenchOptions(where="emulated", runtimes=(*TWO, "micropython-unix")), 3),
        (BenchOptions(where="auto", runtimes=(*TWO, "micropython-unix")), 3),
        (BenchOptions(where="silicon", runtimes=TWO), 1),
        (BenchOptions(where="emulated", runtimes=TWO, devices=("usb:desk",)), 1),
        (BenchOptions(where="hosted"), 1),
    ],
)
def test_emulated_boards_take_all_cores_and_nothing_else_does(
    options: BenchOptions, boards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert usual_parallel(plan(options), options) == boards


def test_boards_have_a_thread_each_and_emulated_rows_go_to_any_process() -> None:
    options = BenchOptions(where="auto", runtimes=(*TWO, "micropython-unix"), runs=2, parallel=2)
    boards, emulated = units_of(plan(options), options)
    assert boards == {} and len(emulated) == 8 and len({program_of(row) for row in emulated}) == 4
    named = BenchOptions(where="emulated", runtimes=TWO, runs=2, parallel=2, devices=("usb:one", "usb:two"))
    boards, emulated = units_of(plan(named), named)
    assert {name: len(rows) for name, rows in boards.items()} == {"usb:one": 8, "usb:two": 8} and emulated == []
    silicon = BenchOptions(where="silicon", runtimes=TWO, runs=2, parallel=3)
    boards, emulated = units_of(plan(silicon), silicon)
    assert sorted(boards) == ["board-1", "board-2", "board-3"] and emulated == []
