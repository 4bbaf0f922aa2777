"""Jitter moves figures, and the same seed gives the same; with `fixed` each run is exactly the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.boards.jitter import Surroundings
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware.images import ImageStore
from portbench.results.model import Row, Status
from portbench.results.table import tables
from portbench.runner.bench import Bench
from portbench.runner.jobs.run import new_run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from tests.ping_pong import PING_PONG

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def measured(folder: Path, seed: int | None, runs: int, monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(folder / "b"))
    options = BenchOptions(
        where="emulated",
        workloads=(PING_PONG,),
        runtimes=("portbench-native",),
        settings={"messages": "100"},
        runs=runs,
        surroundings=Surroundings(seed=seed),
        results_dir=folder / "results",
    )
    rows = plan(options)
    bench = Bench(options, ImageStore([rows[0].entry], state=folder, offline=True), folder)
    try:
        found = [bench.measure(row).row for row in rows]
    finally:
        bench.close()
    assert all(row.status is Status.MEASURED for row in found), found[0].reason
    about = tables(new_run(options).model_copy(update={"rows": found}))[0].about
    assert ("drawn from seed" in about) is (seed is not None) and ("spread exact" in about) is (seed is None)
    return found


def test_a_seed_is_the_same_jitter_again_and_none_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = measured(tmp_path / "1", 7, 2, monkeypatch)
    again = measured(tmp_path / "2", 7, 2, monkeypatch)
    (other,) = measured(tmp_path / "3", 8, 1, monkeypatch)
    fixed = measured(tmp_path / "4", None, 2, monkeypatch)
    assert [row.simulated_figures() for row in first] == [row.simulated_figures() for row in again]
    assert first[0].sim is not None and first[0].sim.seed == 7 and "dhcp_delay_us" in first[0].sim.room
    assert len({row.figures["total_us"] for row in (*first, other)}) == 3
    assert len(set(first[0].samples["round_trip_us"])) > 10  # each answer has another turnaround
    assert all(row.is_exact for row in fixed) and len({row.figures["total_us"] for row in fixed}) == 1
    assert fixed[0].samples == fixed[1].samples and len(set(fixed[0].samples["round_trip_us"])) < 10
