"""Rows that a check needs, measured as `portbench run` measures them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from portbench.files import TemporaryFolder
from portbench.firmware.images import ImageStore
from portbench.results.model import Row
from portbench.runner.bench import Bench
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan


def measured(options: BenchOptions, store: ImageStore, keys: Iterable[tuple[str, str, str]]) -> Iterator[Row]:
    """One emulated run of each runtime, profile and workload."""
    with TemporaryFolder("portbench-check") as folder:
        options = replace(options, where="emulated", runs=1, results_dir=folder)
        planned = {(row.entry.id, row.profile.name, row.workload.name): row for row in plan(options)}
        bench = Bench(options, store, folder)
        try:
            for key in keys:
                yield bench.measure(planned[key]).row
        finally:
            bench.close()
