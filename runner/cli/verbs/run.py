"""Measure workloads on runtimes; print and store the tables.

Rows without an image or a board are skipped, with the reason. Words after `--` go to pytest.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from portbench.console import console
from portbench.results.compare import compare
from portbench.results.find import find_run
from portbench.results.storage import read, to_json
from portbench.results.table import terminal
from portbench.runner.cli.comparing import limit_option, print_comparison
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.group import INTERRUPTED
from portbench.runner.cli.options import Sectioned, as_arguments, bench_options, given
from portbench.runner.interruptions import Interruptions
from portbench.runner.kinds.foreign import meeting_places
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.shown import shown


class _WithPytest(Sectioned):
    """Keeps what follows `--` for pytest, so that a forgotten `--` is a mistake that is told."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        own, further = args, []
        if "--" in args:
            at = args.index("--")
            own, further = args[:at], args[at + 1 :]
        context.meta["pytest"] = further
        return super().parse_args(context, own)


@click.command(cls=_WithPytest, options_metavar="[OPTIONS] [-- PYTEST OPTIONS]")
@bench_options()
@click.option("--dry-run", is_flag=True, help="show the rows, measure none")
@click.option("--json", "as_json", is_flag=True, help="print the run file as JSON")
@click.option("--baseline", metavar="RUN", help="compare with this run: a file, latest, a name or a revision")
@limit_option
@click.option("--on", metavar="ADDRESS", help="measure on the workers of a Dask scheduler, as tcp://HOST:8786")
@click.pass_context
def COMMAND(
    context: click.Context,
    /,
    dry_run: bool,
    as_json: bool,
    baseline: str | None,
    fail_if_slower: float | None,
    on: str | None,
    **values: Any,
) -> int:
    asked = given(values)
    if on is not None:
        asked = _for_a_cluster(asked, context.meta["pytest"])
    if fail_if_slower is not None and baseline is None:
        raise click.UsageError("--fail-if-slower: than what? name a run with --baseline")
    with one_line():
        options = read_options(asked)
        rows = plan(options)
        before = None if baseline is None else find_run(baseline, options.results_dir)  # `latest` is another afterwards
    if dry_run:
        _show(rows, as_json)
        if any(row.entry.family.traits.timed_by_pc for row in rows):
            for line in meeting_places(options):
                click.echo(f"foreign images on {line}", err=True)
        return 0
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        run_file: Path | None
        if on is not None:
            status, run_file = _measure_on(on, rows, options)
        else:
            status, run_file = measure([*as_arguments(asked), *context.meta["pytest"]])
    if as_json and run_file is not None:
        with one_line():
            click.echo(to_json(read(run_file)), nl=False)
    if before is not None and run_file is not None and status in (0, 1):
        with one_line(), contextlib.redirect_stdout(sys.stderr if as_json else sys.stdout):
            compared = compare(before, read(run_file))
            print_comparison(compared, fail_if_slower)
        if not compared:
            raise click.ClickException(f"--baseline {baseline}: has no row in common with this run; measure both alike")
        if fail_if_slower is not None and any(each.is_slower_than(fail_if_slower) for each in compared):
            return 1
    return status


def _for_a_cluster(asked: dict[str, Any], further: Sequence[str]) -> dict[str, Any]:
    """Rows that its workers can measure."""
    if asked.get("where", "emulated") != "emulated" or asked.get("device"):
        raise click.UsageError("--on: a cluster measures emulated rows alone; leave out --where and --device")
    if further:
        raise click.UsageError(f"--on: what follows -- is pytest's, which has no part in it: {' '.join(further)}")
    return asked | {"where": "emulated"}


def _measure_on(address: str, rows: Sequence[PlannedRow], options: BenchOptions) -> tuple[int, Path]:
    """As `measure`, on the workers of a Dask scheduler."""
    from portbench.runner.jobs.table import measure_table
    from portbench.runner.plugin import PROJECT

    interruptions = Interruptions()
    interruptions.listen()
    try:
        with one_line():
            faults, run_file = measure_table(rows, options, address, PROJECT)
            out = console()
            out.print(terminal(read(run_file), out.width), crop=False)
            out.print(f"rows: {run_file}", soft_wrap=True, markup=False)
    finally:
        interruptions.ending()
        interruptions.restore()
    for fault in faults:
        click.echo(shown(fault), err=True)
    return int(bool(faults)), run_file


def measure(arguments: Sequence[str]) -> tuple[int, Path | None]:
    """Runs the rows under pytest, free of the settings, files and other plugins of wherever this is.

    The status is 0 where no row failed, 1 where one did, 2 for what pytest does not understand, 130 after Ctrl-C.
    """
    import pytest

    from portbench.runner import plugin

    found: list[Path | None] = []

    class Ear:
        def pytest_unconfigure(self, config: pytest.Config) -> None:
            bench = config.pluginmanager.getplugin(plugin.PLUGIN_NAME)
            found.append(bench.run_file if bench is not None else None)

    own = ["-c", os.devnull, f"--rootdir={Path.cwd()}", f"--confcutdir={plugin.ROWS.parent}", "--import-mode=importlib"]
    own += ["--disable-plugin-autoload", "-p", plugin.__name__, "-p", "xdist", "-p", "no:cacheprovider"]
    own += ["-p", "no:warnings", "-q", "--no-header"]
    ended = pytest.main([*own, *arguments, str(plugin.ROWS)], plugins=[Ear()])
    statuses = {pytest.ExitCode.OK: 0, pytest.ExitCode.TESTS_FAILED: 1, pytest.ExitCode.INTERRUPTED: INTERRUPTED}
    return statuses.get(pytest.ExitCode(ended), 2), found[-1] if found else None


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
