"""A busy PC changes no figure of an emulated board; jitter does, as its seed says."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.boards.jitter import Surroundings
from portbench.results.model import Row
from portbench.results.table import tables
from portbench.runner.jobs.run import new_run
from portbench.runner.options import BenchOptions
from tests.boards.emulated.conftest import Prepared, result_of, within
from tests.measuring import measured
from tests.ping_pong import PING_PONG


def figures(prepared: Prepared, entry: str, family: str) -> dict[str, Any]:
    board = prepared(entry, family, messages=20)
    output = board.run(within(120))
    result = result_of(output)
    assert "error" not in result, result
    assert output.sim is not None
    return {
        "result": result,
        "flash": output.sim["flash_sha256"],
        "counters": output.sim["counters"],
        "sessions": output.sessions,
    }


def test_a_loaded_machine_changes_nothing(prepared: Prepared) -> None:
    quiet = figures(prepared, "portbench-native", "native")
    burn = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        loaded = figures(prepared, "portbench-native", "native")
    finally:
        for process in burn:
            process.kill()
            process.wait()
    assert loaded == quiet


def jittered(folder: Path, seed: int | None, runs: int) -> list[Row]:
    asked: dict[str, Any] = {"settings": {"messages": "100"}, "runs": runs, "surroundings": Surroundings(seed=seed)}
    found = measured(folder, runtimes=("portbench-native",), **asked)
    options = BenchOptions().but(where="emulated", workloads=(PING_PONG,), **asked)
    about = tables(new_run(options).model_copy(update={"rows": found}))[0].about
    assert ("drawn from seed" in about) is (seed is not None) and ("spread exact" in about) is (seed is None)
    return found


@pytest.mark.slow
def test_a_seed_is_the_same_jitter_again_and_none_is_none(tmp_path: Path) -> None:
    first = jittered(tmp_path / "1", 7, 2)
    again = jittered(tmp_path / "2", 7, 2)
    (other,) = jittered(tmp_path / "3", 8, 1)
    fixed = jittered(tmp_path / "4", None, 2)
    assert [row.simulated_figures() for row in first] == [row.simulated_figures() for row in again]
    assert first[0].sim is not None and first[0].sim.seed == 7 and "dhcp_delay_us" in first[0].sim.room
    assert len({row.figures["total_us"] for row in (*first, other)}) == 3
    assert len(set(first[0].samples["round_trip_us"])) > 10  # each answer has another turnaround
    assert all(row.is_exact for row in fixed) and len({row.figures["total_us"] for row in fixed}) == 1
    assert fixed[0].samples == fixed[1].samples and len(set(fixed[0].samples["round_trip_us"])) < 10
