"""A row of any workload, measured once by a bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.model import Row, Status
from portbench.runner.bench import Bench
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.workloads import Workload

Measure = Callable[..., Row]


@pytest.fixture
def measured_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Measure]:
    """`measured_row(workload, runtime, profile, **settings)`: each on a fresh board, hosted or emulated.

    Skips the test without the image.
    """
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path / "run"))
    with ExitStack() as stack:

        def measure(workload: Workload, runtime: str, profile: str = "hosted", **settings: Any) -> Row:
            options = BenchOptions(
                runtimes=(runtime,),
                profiles=(profile,),
                workloads=(workload,),
                where="auto" if profile == "hosted" else "emulated",
                runs=1,
                settings=settings,
                results_dir=tmp_path / "results",
                phy_link_delay_s=0.1,
            )
            (row,) = plan(options)
            bench = Bench(options, ImageStore(catalogue.load()), tmp_path)
            stack.callback(bench.close)
            measured = bench.measure(row).row
            if measured.status is Status.SKIPPED:
                pytest.skip(measured.reason or runtime)
            return measured

        yield measure


def rows_of(
    workload: Workload,
    runtime: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *settings: dict[str, Any],
    **options: Any,
) -> list[Row]:
    """A row for each of `settings`, all on one emulated board; skips without the image or a driver.
    `options`: further ones of the bench."""
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(folder / "run"))
    usual: dict[str, Any] = {"runtimes": (runtime,), "where": "emulated", "runs": 1, "results_dir": folder}
    asked = [BenchOptions(workloads=(workload,), settings=each, **(usual | options)) for each in settings]
    planned = [row for each in asked for row in plan(each)]
    bench = Bench(asked[0], ImageStore([planned[0].entry]), folder)
    try:
        measured = [bench.measure(each).row for each in planned]
    finally:
        bench.close()
    for row in measured:
        if row.status is Status.SKIPPED or "is not at hand" in (row.reason or ""):
            pytest.skip(row.reason or runtime)
    return measured
