"""Measure the newest of each family, or the given runtimes; print and store the tables."""

import json
import re
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from portbench.console import console, tell
from portbench.results.chance import check_installed
from portbench.results.compare import compare
from portbench.results.model import RunFile, Status
from portbench.results.storage import find_run, to_json
from portbench.runner.cli.comparing import limit_option, print_comparison, verdict
from portbench.runner.cli.options import Sectioned, bench_options
from portbench.runner.jobs.run import Run, planned
from portbench.runner.kinds.foreign import meeting_places
from portbench.runner.options import read_options
from portbench.runner.plan import PlannedRow, left_out, remarks
from portbench.runner.sweep.run import SweepRun


def scheduler(text: str) -> str:
    """Check an address, written `tcp://HOST:8786`."""
    if not re.fullmatch(r"[a-z]+://[^/]+:\d+", text):
        raise click.BadParameter(f"{text!r} is not an address; write tcp://HOST:8786")
    return text


@click.command(cls=Sectioned)
@bench_options()
@click.option("--dry-run", is_flag=True, help="show the planned rows, and measure none")
@click.option("--json", "as_json", is_flag=True, help="print the run file (for a sweep, its points)")
@click.option("--baseline", metavar="RUN", help="compare with this run afterwards: a file, latest, a name, a revision")
@limit_option
@click.option(
    "--on", type=scheduler, metavar="ADDRESS", help="a Dask scheduler, as tcp://HOST:8786: measure on its workers"
)
@click.option("--x", metavar="AXIS", help="setting along the chart of a sweep (default: that with most numbers)")
@click.option("--chart", metavar="FILE", help="chart of a sweep, .svg, .png or .pdf (default: beside the rows)")
def COMMAND(
    dry_run: bool,
    as_json: bool,
    baseline: str | None,
    fail_if_slower: float | None,
    on: str | None,
    x: str | None,
    chart: str | None,
    **asked: Any,
) -> int:
    if fail_if_slower is not None and baseline is None:
        raise click.UsageError("--fail-if-slower: than what? name a run with --baseline")
    options = read_options(asked, sweeps=True)
    if on is not None:
        asked = _emulated(asked, "--on: a cluster")
    elif options.what.axes:
        asked = _emulated(asked, f"{options.what.axes[0].name}: a sweep")
    before = (
        None if baseline is None else find_run(baseline, options.output.results_dir)
    )  # `latest` is another afterwards
    if before is not None and options.how.surroundings.seed is not None:
        check_installed()
    out = console(stderr=True) if as_json else console()
    if options.what.axes:
        sweep = SweepRun(asked, options, x, chart)
        if dry_run:
            if as_json:
                _show(sweep.rows, as_json)
            else:
                click.echo(sweep.size)
            return 0
        run, status = sweep.measure(on, as_json)
    elif x or chart:
        raise click.UsageError("--x, --chart: are for a sweep; give a setting several values, as -s spi_hz=1M..32M*2")
    else:
        rows, options = planned(asked)
        for line in remarks(rows, options.what):
            tell(line)
        if dry_run:
            _show(rows, as_json)
            if any(row.entry.family.traits.timed_by_pc for row in rows):
                for line in meeting_places(options):
                    click.echo(f"foreign images on {line}", err=True)
            return 0
        run, status = _measure(Run(rows, options, on), as_json, out)
        measured = any(row.status is Status.MEASURED for row in run.rows)
        if options.what.newest and measured and (more := left_out(rows, options)) is not None:
            tell(more)
    if before is not None:
        compared = compare(before, run)
        print_comparison(compared, fail_if_slower, out)
        if not compared:
            raise click.ClickException(f"--baseline {baseline}: has no row in common with this run; measure both alike")
        status = status or verdict(compared, fail_if_slower)
    return status


def _measure(run: Run, as_json: bool, out: Console) -> tuple[RunFile, int]:
    """Gives the run and the command's status."""
    with run:
        try:
            for _ in run.measured():
                pass
        finally:
            run.show(out)
            if as_json:
                click.echo(to_json(run.run), nl=False)
    for fault in run.faults:
        tell(fault)
    return run.run, run.status


def _emulated(asked: dict[str, Any], what: str) -> dict[str, Any]:
    """`asked` for emulated boards alone, which `what` measures."""
    if asked["where"] not in (None, "auto", "emulated") or asked["device"]:
        raise click.UsageError(f"{what} measures emulated rows alone; leave out --where and --device")
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
