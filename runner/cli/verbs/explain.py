"""Say why a row takes so long: in words, by cause, and with the gain of a change.

ROW is RUNTIME/PROFILE, as micropython-1.26.0/as-published, or RUNTIME, an id or a .uf2 file (default portbench-native).
It comes from the newest run with its attribution (`portbench run --attribute`), else an emulated board runs it now.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from portbench.clients.own_libraries import libraries_of_sides
from portbench.console import console
from portbench.errors import OptionError
from portbench.results.explain import Facts, compared
from portbench.results.model import Row
from portbench.results.storage import LATEST, find_run
from portbench.runner.cli.options import bench_option
from portbench.runner.cli.row import RowName, replayed_row, row_argument, row_options, stored_row
from portbench.runner.explain.report import Explained
from portbench.runner.explain.view import show

if TYPE_CHECKING:
    from portbench.runner.replayed import ReplayedRow

_NAMES = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@row_argument
@bench_option("results_dir")
@click.option("--file", metavar="FILE", help="take the row from this run: a file, latest, a name or a revision")
@click.option("--beside", metavar="ROW", help="compare with another row of the same workload")
@click.option("--elf", type=_NAMES, help="ROW's ELF file or linker map, for names of functions")
@click.option("--beside-elf", type=_NAMES, help="the other row's ELF file or linker map")
@click.option("--message", type=click.IntRange(1), metavar="N", help="one message, or other timed step, only")
@click.option("--slowest", is_flag=True, help="the slowest one only")
@click.option("--what-if", "what_if", is_flag=True, help="run it with one change at a time")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(
    row: str,
    file: str | None,
    results_dir: Path,
    beside: str | None,
    elf: Path | None,
    beside_elf: Path | None,
    message: int | None,
    slowest: bool,
    what_if: bool,
    as_json: bool,
    **values: Any,
) -> None:
    if message is not None and slowest:
        raise click.UsageError("--message and --slowest exclude each other; leave out one of them")
    if beside_elf is not None and beside is None:
        raise click.UsageError("--beside-elf is for the row of --beside: name one")
    if what_if and file is not None:
        raise OptionError("--what-if: runs the row; leave out --file, or --what-if")
    if file is not None and (elf or beside_elf):
        raise OptionError("--elf: the row of --file has its names already; leave out --elf or --file")
    own = libraries_of_sides(values.pop("library"), alike=row == beside)
    if file is not None and any(own):
        raise OptionError("--library: the row of --file was measured with its own; leave out --library or --file")
    source = Source(file, results_dir, values, run_again=what_if or bool(elf or beside_elf or any(own)))
    one = source.row(row, elf, own[0] if beside else own[1])
    changes = list(source.measured[row].what_if(one)) if what_if else []
    other = None if beside is None else source.row(beside, beside_elf, own[1])
    said = [] if other is None else compared(one, other)
    one = _span_of(one, message, slowest)
    found = Explained(one, measured=row in source.measured, beside=other, compared=said, what_if=changes)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        show(found, console())


class Source:
    """The source of rows: a run file, or an emulated board."""

    def __init__(self, file: str | None, results_dir: Path, values: dict[str, Any], *, run_again: bool) -> None:
        self._file = file
        self._values = values
        changed = run_again or any(value for name, value in values.items() if name != "workload")
        is_stored = file is not None or (not changed and (results_dir / LATEST).exists())
        self._run = find_run(file, results_dir) if is_stored else None
        self.measured: dict[str, ReplayedRow] = {}

    def row(self, text: str, elf: Path | None, libraries: Sequence[str]) -> Row:
        """Raises OptionError if there is no such row, or nothing in it was timed."""
        row = self._found(RowName.read(text), text, elf, libraries)
        if Facts.of(row) is None:
            raise OptionError(
                f"{text}: its time has no attribution: the workload times nothing, or no readings of the timer fit"
            )
        return row

    def _found(self, name: RowName, text: str, elf: Path | None, libraries: Sequence[str]) -> Row:
        if self._run is not None:
            workload = row_options(text, self._values).what.chosen_workloads[0].name
            row = stored_row(self._run, name, workload)
            if row is not None:
                return row
            if self._file is not None:
                raise OptionError(
                    f"{self._file}: has no {workload} row {name} with an attribution; measure with"
                    " portbench run --attribute"
                )
        self.measured[text] = replayed_row(text, self._values | {"library": libraries}, elf)
        return self.measured[text].row()


def _span_of(row: Row, message: int | None, slowest: bool) -> Row:
    """The row with all its spans, or with one. Raises OptionError."""
    attribution = row.attribution
    assert attribution is not None  # checked by `Source.row`
    spans = attribution.spans
    if slowest:
        message = 1 + max(range(len(spans)), key=lambda index: (spans.duration_ps[index], -index))
    if message is None:
        return row
    if message > len(spans):
        raise OptionError(f"--message: {message}: the row has {len(spans)}; choose 1 to {len(spans)}")
    return row.model_copy(update={"attribution": attribution.span(message - 1)})
