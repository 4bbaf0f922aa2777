"""A row of the bench, measured the way `portbench run` does."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from portbench.boards import BoardError
from portbench.errors import PortbenchError
from portbench.firmware.images import ImageStore
from portbench.results.model import Status
from portbench.runner.bench import Bench
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.plugin import PROJECT
from portbench.runner.progress import ProgressView
from portbench.workloads import Workload


def measure(
    workload: Workload, runtime: str, profile: str, store: ImageStore, turnaround_us: int | None = None
) -> dict[str, float]:
    """The row's figures, of one run. Raises PortbenchError where it is skipped, BoardError where it fails."""
    with tempfile.TemporaryDirectory(prefix="portbench-validate-") as folder:
        options = BenchOptions(
            where="emulated",
            workloads=(workload,),
            runtimes=(runtime,),
            profiles=(profile,),
            runs=1,
            results_dir=Path(folder),
        )
        if turnaround_us is not None:
            options = replace(options, turnaround_us=turnaround_us)
        (planned,) = plan(options)
        bench = Bench(options, store, PROJECT)
        try:
            row = bench.measure(planned, ProgressView(1, Console(file=StringIO()))).row
        finally:
            bench.close()
    if row.status is Status.SKIPPED:
        raise PortbenchError(row.reason or f"{runtime}: skipped")
    if row.status is not Status.MEASURED:
        raise BoardError(f"{runtime}: {row.reason}")
    return dict(row.figures)
