"""The argument ROW: its name, its row in a run file, and its plan on an emulated board with few exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from portbench.engine import needs_engine
from portbench.errors import OptionError
from portbench.results.model import Row, RunFile
from portbench.runner.cli.options import NAMES_OF_RUNTIMES, SETTINGS, F, bench_option, bench_options
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import is_file, plan

if TYPE_CHECKING:
    from portbench.runner.replayed import ReplayedRow

DEFAULT_ROW: Final = "portbench-native"


@dataclass(frozen=True)
class RowName:
    """`micropython-1.26.0/as-published`; a runtime alone means its first profile."""

    runtime: str
    profile: str | None

    @classmethod
    def read(cls, text: str) -> RowName:
        """Raises OptionError. A path of an image file may have slashes, and takes no profile."""
        if is_file(text):
            return cls(text, None)
        runtime, slash, profile = text.rpartition("/") if "/" in text else (text, "", "")
        if not runtime or (slash and not profile):
            raise OptionError(f"{text!r} is not a row; use RUNTIME/PROFILE, as micropython-1.26.0/as-published")
        return cls(runtime, profile or None)

    def __str__(self) -> str:
        return self.runtime if self.profile is None else f"{self.runtime}/{self.profile}"


def stored_row(run: RunFile, name: RowName, workload: str) -> Row | None:
    """The first row of this name with an attribution."""
    rows = (row for row in run.rows if row.workload == workload and row.attribution is not None)
    return next((row for row in rows if row.runtime == name.runtime and name.profile in (None, row.profile)), None)


def row_argument(command: F) -> F:
    """Add the argument ROW, RUNTIME or RUNTIME/PROFILE, and the options of the row."""
    command = bench_options("board", "library", *SETTINGS)(command)
    command = bench_option("workload", multiple=False)(command)
    return click.argument("row", metavar="[ROW]", default=DEFAULT_ROW, shell_complete=NAMES_OF_RUNTIMES)(command)


def row_options(row: str, values: Mapping[str, Any]) -> BenchOptions:
    """The options of a bench that measures `row` once. Raises OptionError."""
    name = RowName.read(row)
    asked: dict[str, Any] = {"where": "emulated", "runs": 1, "runtime": [name.runtime]}
    if name.profile is not None:
        asked["profile"] = [name.profile]
    return read_options({**values, **asked}).but(quick=True)


def replayed_row(row: str, values: Mapping[str, Any], elf: Path | None = None) -> ReplayedRow:
    """The first planned row of this name, to be run. Raises OptionError, and BoardUnavailable without the engine."""
    needs_engine()
    from portbench.runner.replayed import ReplayedRow

    options = row_options(row, values)
    return ReplayedRow(plan(options)[0], elf)


def check_writable(paths: Iterable[Path]) -> None:
    """Raise OSError for a file that cannot be written, before the row runs for a minute. Leaves no new file."""
    for path in paths:
        there = path.exists()
        path.open("ab").close()
        if not there:
            path.unlink()
