"""How many boards there are if nobody says, what runs on which, and who waits for whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.runner.options import BenchOptions
from portbench.runner.parallel.collector import _groups, usual_parallel
from portbench.runner.parallel.turns import turn
from portbench.runner.plan import plan

TWO = ("micropython-1.26.0", "wiznet-hardwired")


@pytest.mark.parametrize(
    ("options", "boards"),
    [
        (BenchOptions(where="emulated", runtimes=TWO), 3),
        (BenchOptions(where="emulated", runtimes=("portbench-native",), runs=9), 1),
        (BenchOptions(where="emulated", runtimes=(*TWO, "micropython-unix")), 3),
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


def test_runs_of_one_program_stay_on_one_board_where_there_are_programs_enough() -> None:
    options = BenchOptions(where="emulated", runtimes=TWO, runs=2, parallel=2)
    rows = plan(options)
    groups = _groups(rows, options)
    assert len(set(groups.values())) == 4 and all(
        groups[one.id] == groups[other.id]
        for one in rows
        for other in rows
        if (one.entry.id, one.profile) == (other.entry.id, other.profile)
    )
    one = BenchOptions(where="emulated", runtimes=("portbench-native",), runs=4, parallel=2)
    assert sorted(_groups(plan(one), one).values()) == ["board-1", "board-1", "board-2", "board-2"]


@pytest.mark.skipif(os.name != "posix", reason="emulated boards are on POSIX systems only")
def test_whoever_is_alone_is_alone(tmp_path: Path) -> None:
    """Whether another process would get its turn at once, asked while one has one."""

    def would_get(kind: str) -> bool:
        code = f"import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_{kind} | fcntl.LOCK_NB)"
        lock = str(tmp_path / "lock")
        return (
            subprocess.run([sys.executable, "-c", code, lock], stderr=subprocess.DEVNULL, check=False).returncode == 0
        )

    with turn(tmp_path / "lock", alone=False):
        assert would_get("SH") and not would_get("EX")
    with turn(tmp_path / "lock", alone=True):
        assert not would_get("SH") and not would_get("EX")
    assert would_get("EX")
