"""Show a run: tables, CSV, JSON, or another kind of board beside it.

RUN is a run file, `latest`, a run's name or the revision it was measured at; without it, the newest
of the results' folder. A runtime's id shows its rows of the newest run. Before the first run these
are the figures that come with portbench.
"""

from __future__ import annotations

import json

import click

from portbench.console import console
from portbench.results import boards_beside
from portbench.results.csv_export import rows_csv, samples_csv
from portbench.results.model import RunFile, json_schema
from portbench.results.storage import to_json
from portbench.results.table import terminal
from portbench.runner.cli.options import bench_option, shown_run
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
@click.option("--json", "form", flag_value="json", help="the run file, in today's schema")
@click.option("--json-schema", "form", flag_value="json-schema", help="the schema of run files, and no run")
def COMMAND(name: str | None, results_dir: str | None, where: str | None, beside: str | None, form: str | None) -> None:
    if form == "json-schema":
        click.echo(json_schema(), nl=False)
        return
    run = _of(shown_run(name, results_dir), where)
    other = None if beside is None else _of(shown_run(beside, results_dir), where)
    if other is not None:
        click.echo(_beside(run, other, form), nl=False)
    elif form is None:
        out = console()
        out.print(terminal(run, out.width), crop=False)
    else:
        click.echo(_as_text(run, form), nl=False)


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
