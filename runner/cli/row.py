"""The row that a verb looks at: ROW on its command line, planned for an emulated board, with few exchanges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from portbench.runner.cli.completion import complete_rows
from portbench.runner.cli.options import SETTINGS, bench_options, given
from portbench.runner.explain.stored import RowName
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow, plan

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_ROW: Final = "portbench-native"


def row_argument(command: F) -> F:
    """ROW, which is RUNTIME or RUNTIME/PROFILE, and the options that say more of it."""
    command = bench_options("workload", "board", *SETTINGS, single=True)(command)
    return click.argument("row", metavar="[ROW]", default=DEFAULT_ROW, shell_complete=complete_rows)(command)


def row_options(row: str, values: Mapping[str, Any]) -> BenchOptions:
    """The options of a bench that measures `row` once. Raises OptionError."""
    name = RowName.read(row)
    asked: dict[str, Any] = {"where": "emulated", "runs": "1", "runtime": [name.runtime]}
    if name.profile is not None:
        asked["profile"] = [name.profile]
    return replace(read_options(given(values) | asked), quick=True)


def planned_row(row: str, values: Mapping[str, Any]) -> tuple[PlannedRow, BenchOptions]:
    """The first row that fits, and its bench's options. Raises OptionError."""
    options = row_options(row, values)
    return plan(options)[0], options


def check_writable(paths: Iterable[Path]) -> None:
    """Raises OSError where a file could not be written, before a minute's work; leaves no new file behind."""
    for path in paths:
        there = path.exists()
        path.open("ab").close()
        if not there:
            path.unlink()
