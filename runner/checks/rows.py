"""Rows that a check needs, measured as `portbench run` measures them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware.images import ImageStore
from portbench.results.model import Row
from portbench.runner.jobs.run import Run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan


def measured(options: BenchOptions, store: ImageStore, keys: Iterable[tuple[str, str, str]]) -> Iterator[Row]:
    """One emulated run of each runtime, profile and workload. Raises PortbenchError where none can follow."""
    with TemporaryFolder("portbench-check") as folder:
        options = replace(options, where="emulated", runs=1, results_dir=folder)
        planned = {(row.entry.id, row.profile.name, row.workload.name): row for row in plan(options)}
        rows = [planned[key] for key in keys]
        with Run(rows, options, store=store) as run:
            yield from (row for _, row in run.measured())
            if len(run.run.rows) < len(rows):
                raise PortbenchError("; ".join(run.faults))
