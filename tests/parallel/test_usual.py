"""The default number of boards, what runs on which, and who waits for whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.firmware.images import ImageStore
from portbench.runner.options import BenchOptions
from portbench.runner.parallel.collector import units_of, usual_parallel
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


def test_each_emulated_run_is_given_by_itself_and_all_of_a_named_board_and_of_this_pc_together(tmp_path: Path) -> None:
    options = BenchOptions(where="auto", runtimes=(*TWO, "micropython-unix"), runs=2, parallel=2)
    (tmp_path / "W5500_EVB_PICO_Hardwired.uf2").write_bytes(bytes(512))
    store = ImageStore(folder=tmp_path, cache=tmp_path, state=tmp_path, offline=True)
    scopes, units = units_of(plan(options), options, store)
    emulated = [scope for scope in units if scope != "hosted"]
    assert len(emulated) == 8 and len({units[scope].program for scope in emulated}) == 4
    assert {units[scope].weight for scope in emulated if "hardwired" in scope} == {512}
    assert {units[scope].weight for scope in emulated if "hardwired" not in scope} == {0}
    assert units["hosted"].alone and list(scopes.values()).count("hosted") == 2
    named = BenchOptions(where="emulated", runtimes=TWO, runs=2, parallel=2, devices=("usb:one", "usb:two"))
    assert set(units_of(plan(named), named, store)[1]) == {"usb:one", "usb:two"}


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
