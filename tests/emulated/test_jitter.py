"""Jitter moves figures, and the same seed gives the same; with `fixed` each run is exactly the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portbench.boards.jitter import Surroundings
from portbench.results.model import Row
from portbench.results.table import tables
from portbench.runner.jobs.run import new_run
from portbench.runner.options import BenchOptions
from tests.measuring import measured
from tests.ping_pong import PING_PONG

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def rows(folder: Path, seed: int | None, runs: int) -> list[Row]:
    asked: dict[str, Any] = {"settings": {"messages": "100"}, "runs": runs, "surroundings": Surroundings(seed=seed)}
    found = measured(folder, runtimes=("portbench-native",), **asked)
    options = BenchOptions(where="emulated", workloads=(PING_PONG,), **asked)
    about = tables(new_run(options).model_copy(update={"rows": found}))[0].about
    assert ("drawn from seed" in about) is (seed is not None) and ("spread exact" in about) is (seed is None)
    return found


def test_a_seed_is_the_same_jitter_again_and_none_is_none(tmp_path: Path) -> None:
    first = rows(tmp_path / "1", 7, 2)
    again = rows(tmp_path / "2", 7, 2)
    (other,) = rows(tmp_path / "3", 8, 1)
    fixed = rows(tmp_path / "4", None, 2)
    assert [row.simulated_figures() for row in first] == [row.simulated_figures() for row in again]
    assert first[0].sim is not None and first[0].sim.seed == 7 and "dhcp_delay_us" in first[0].sim.room
    assert len({row.figures["total_us"] for row in (*first, other)}) == 3
    assert len(set(first[0].samples["round_trip_us"])) > 10  # each answer has another turnaround
    assert all(row.is_exact for row in fixed) and len({row.figures["total_us"] for row in fixed}) == 1
    assert fixed[0].samples == fixed[1].samples and len(set(fixed[0].samples["round_trip_us"])) < 10
