"""Show a run: its tables, or its rows as CSV or JSON.

FILE is a run file; without it, or as `latest`, the newest of the results' folder.
"""

from __future__ import annotations

import click

from portbench.results.csv_export import rows_csv, samples_csv
from portbench.results.model import RunFile
from portbench.results.schema import json_schema
from portbench.results.storage import StorageError, read, to_json
from portbench.results.table import terminal
from portbench.runner.cli.console import console
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_option, run_file
from portbench.where import Where

_FILE_COLUMNS = 160


@click.command()
@click.argument("file", required=False, type=click.Path())
@bench_option("results_dir")
@click.option("--where", type=click.Choice([str(each) for each in Where]), help="only rows of this kind")
@click.option("--csv", "form", flag_value="csv", help="one line per row, for a spreadsheet")
@click.option("--samples", "form", flag_value="samples", help="one line per sample, as CSV")
@click.option("--json", "form", flag_value="json", help="the run file, in today's schema")
@click.option("--json-schema", "form", flag_value="json-schema", help="the schema of run files, and no run")
def COMMAND(file: str | None, results_dir: str | None, where: str | None, form: str | None) -> None:
    if form == "json-schema":
        click.echo(json_schema(), nl=False)
        return
    with one_line(StorageError):
        run = read(run_file(file, results_dir))
    if where is not None:
        run = run.model_copy(update={"rows": [row for row in run.rows if row.where == where]})
    if form is None:
        out = console(_FILE_COLUMNS)
        out.print(terminal(run, out.width), crop=False)
    else:
        click.echo(_as_text(run, form), nl=False)


def _as_text(run: RunFile, form: str) -> str:
    if form == "json":
        return to_json(run)
    return rows_csv(run.rows) if form == "csv" else samples_csv(run.rows)
