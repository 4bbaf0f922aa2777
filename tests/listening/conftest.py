"""Rows of a user's workload that the PC begins, measured by a bench as any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console

from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.model import Row
from portbench.runner.bench import Bench
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.progress import ProgressView
from portbench.workloads import workload
from tests.workloads.conftest import own_workloads as own_workloads

Measure = Callable[..., Row]


@pytest.fixture
def measure(own_workloads: None, tmp_path: Path) -> Iterator[Measure]:
    """Measures the echo server once on a board of its own; `settings` are the workload's."""
    with ExitStack() as stack:

        def measured(runtime: str, profile: str = "hosted", **settings: int) -> Row:
            options = BenchOptions(
                runtimes=(runtime,),
                profiles=(profile,),
                workloads=(workload("echo_server"),),
                where="auto" if profile == "hosted" else "emulated",
                runs=1,
                settings=dict(settings),
                results_dir=tmp_path / "results",
                phy_link_delay_s=0.1,
            )
            (row,) = plan(options)
            bench = Bench(options, ImageStore(catalogue.load()), tmp_path)
            stack.callback(bench.close)
            said = stack.enter_context((tmp_path / "said.txt").open("a"))
            return bench.measure(row, ProgressView(1, Console(file=said))).row

        yield measured
