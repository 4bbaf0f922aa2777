"""Measure workloads on runtimes; print and store the tables.

Rows whose image is not there are skipped, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from portbench.console import console
from portbench.results.compare import compare
from portbench.results.find import find_run
from portbench.results.storage import to_json
from portbench.runner.cli.comparing import limit_option, print_comparison
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import Sectioned, bench_options, given
from portbench.runner.jobs.run import Run, planned
from portbench.runner.kinds.foreign import meeting_places
from portbench.runner.plan import PlannedRow
from portbench.shown import shown


@click.command(cls=Sectioned)
@bench_options()
@click.option("--dry-run", is_flag=True, help="show the rows that would be measured, and measure none")
@click.option("--json", "as_json", is_flag=True, help="print the run file, and everything else on standard error")
@click.option("--baseline", metavar="RUN", help="compare with this run afterwards: a file, latest, a name, a revision")
@limit_option
@click.option("--on", metavar="ADDRESS", help="a Dask scheduler, as tcp://HOST:8786: measure on its workers")
def COMMAND(
    dry_run: bool,
    as_json: bool,
    baseline: str | None,
    fail_if_slower: float | None,
    on: str | None,
    **values: Any,
) -> int:
    asked = given(values)
    if on is not None:
        asked = _for_a_cluster(asked)
    if fail_if_slower is not None and baseline is None:
        raise click.UsageError("--fail-if-slower: than what? name a run with --baseline")
    with one_line():
        rows, options = planned(asked)
        before = None if baseline is None else find_run(baseline, options.results_dir)  # `latest` is another afterwards
        if dry_run:
            _show(rows, as_json)
            if any(row.entry.family.traits.timed_by_pc for row in rows):
                for line in meeting_places(options):
                    click.echo(f"foreign images on {line}", err=True)
            return 0
        out = console(stderr=True) if as_json else console()
        with Run(rows, options, on) as run:
            try:
                for _ in run.measured():
                    pass
            finally:
                run.show(out)
                if as_json:
                    click.echo(to_json(run.run), nl=False)
        for fault in run.faults:
            click.echo(shown(fault), err=True)
        if before is not None:
            compared = compare(before, run.run)
            print_comparison(compared, fail_if_slower, out)
            if not compared:
                raise click.ClickException(
                    f"--baseline {baseline}: has no row in common with this run; measure both alike"
                )
            if fail_if_slower is not None and any(each.is_slower_than(fail_if_slower) for each in compared):
                return 1
    return run.status


def _for_a_cluster(asked: dict[str, Any]) -> dict[str, Any]:
    """Rows that its workers can measure."""
    if asked.get("where", "emulated") != "emulated" or asked.get("device"):
        raise click.UsageError("--on: a cluster measures emulated rows alone; leave out --where and --device")
    return asked | {"where": "emulated"}


def _show(rows: Sequence[PlannedRow], as_json: bool) -> None:
    if not as_json:
        click.echo("\n".join(row.id for row in rows))
        return
    click.echo(
        json.dumps(
            [
                {
                    "id": row.id,
                    "runtime": row.entry.id,
                    "family": str(row.entry.family),
                    "profile": row.profile.name,
                    "workload": row.workload.name,
                    "board": row.board.id,
                    "device": row.device,
                    "run": row.number,
                    "settings": row.settings.model_dump(mode="json"),
                }
                for row in rows
            ],
            indent=1,
        )
    )
