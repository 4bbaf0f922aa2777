"""Show a run: tables, CSV, JSON, files for other tools, or another kind of board beside it.

RUN is a run file, `latest`, a run's name or the revision it was measured at; without it, the newest
of the results' folder. A runtime (an id, a .uf2 file, or a release as micropython@latest) shows its
rows of the newest run. Before the first run these are the figures that come with portbench.
"""

import json
from collections.abc import Callable
from pathlib import Path

import click

from portbench.boards import board_definition
from portbench.boards.releases import is_selector, selected
from portbench.console import console
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.identify import Uf2File
from portbench.results import boards_beside
from portbench.results.csv_export import rows_csv, samples_csv
from portbench.results.exports import exported, formats
from portbench.results.model import Row, RunFile, json_schema
from portbench.results.shipped import shipped
from portbench.results.storage import LATEST, StorageError, find_run, read, to_json, write
from portbench.results.table import terminal
from portbench.runner.cli.options import bench_option
from portbench.runner.options import DEFAULT_BOARD
from portbench.runner.plan import is_file
from portbench.where import Where


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@bench_option("results_dir")
@click.option("--where", type=click.Choice([str(each) for each in Where]), help="only rows of this kind")
@click.option(
    "--beside",
    metavar="RUN",
    help="a run on another kind of board: the best row of each family beside the other's, and how many times better",
)
@click.option("--csv", "form", flag_value="csv", help="one line per row, for a spreadsheet")
@click.option("--samples", "form", flag_value="samples", help="one line per sample, as CSV")
@click.option("--json", "form", flag_value="json", help="the run as one document")
@click.option("--json-schema", "form", flag_value="json-schema", help="the schema of run files, and no run")
@click.option("--export", type=click.Choice(formats()), help="files for another tool")
@click.option("--output", type=click.Path(path_type=Path), default=".", metavar="FOLDER", help="folder of --export")
def COMMAND(
    name: str | None,
    results_dir: Path,
    where: str | None,
    beside: str | None,
    form: str | None,
    export: str | None,
    output: Path,
) -> None:
    form = export or form
    if form == "json-schema":
        click.echo(json_schema(), nl=False)
        return
    run = _of(_run_or_rows(name, results_dir), where)
    other = None if beside is None else _of(_run_or_rows(beside, results_dir), where)
    if other is not None:
        click.echo(_beside(run, other, form), nl=False)
    elif form in formats():
        if not (files := exported(run, form)):
            raise click.ClickException(f"--export {form}: the run has no figure for it; measure first")
        for path, text in files.items():
            write(output / path, text)
            click.echo(output / path)
    elif form is None:
        out = console()
        out.print(terminal(run, out.width), crop=False)
    else:
        click.echo(_as_text(run, form), nl=False)


def _run_or_rows(name: str | None, results_dir: Path) -> RunFile:
    """The run that `name` means, or the rows of a runtime in the newest run. Raises PortbenchError."""
    runtime = None if name is None else _runtime(name)
    if name is not None and runtime is None:
        return find_run(name, results_dir)
    is_its, board = runtime or (None, DEFAULT_BOARD)
    if (newest := results_dir / LATEST).exists():
        run = read(newest)
    else:
        click.echo(f"{newest}: nothing was measured yet; these figures come with portbench", err=True)
        run = shipped(board)
    if is_its is None:
        return run
    if not (rows := [row for row in run.rows if is_its(row)]):
        raise StorageError(f"{newest}: has no row of {name}; measure: portbench run --runtime {name}")
    return run.model_copy(update={"rows": rows})


def _runtime(name: str) -> tuple[Callable[[Row], bool], str] | None:
    """Tells the rows of the runtime `name`, and its board; None for another name. Raises PortbenchError."""
    if is_file(name):
        sha256 = Uf2File.read(Path(name)).sha256
        return lambda row: row.image_sha256 == sha256, DEFAULT_BOARD
    try:
        entries = selected(name, board_definition(DEFAULT_BOARD), catalogue.load())
    except PortbenchError:
        if is_selector(name):
            raise
        return None
    ids = {entry.id for entry in entries}
    return lambda row: row.runtime in ids, entries[0].board


def _of(run: RunFile, where: str | None) -> RunFile:
    if where is None:
        return run
    return run.model_copy(update={"rows": [row for row in run.rows if row.where == where]})


def _beside(run: RunFile, other: RunFile, form: str | None) -> str:
    if form not in (None, "json"):
        raise click.UsageError(f"--beside goes with --json or nothing, not with --{form}")
    found = boards_beside.as_data(run, other)
    if not found:
        raise click.ClickException("the runs have no workload and family in common; measure both with --workload all")
    return json.dumps(found, indent=1) + "\n" if form == "json" else boards_beside.markdown(run, other)


def _as_text(run: RunFile, form: str) -> str:
    if form == "json":
        return to_json(run)
    return rows_csv(run.rows) if form == "csv" else samples_csv(run.rows)
