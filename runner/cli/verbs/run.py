"""Measure: flash, deploy and run workloads on runtimes, and print and store the tables.

Rows that cannot be had are skipped, with the reason. Words after `--` go to pytest, which does the work:
`portbench run -- -k hardwired` runs those rows alone.
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

from portbench.firmware.catalogue import Family
from portbench.results.storage import StorageError, read, to_json
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.group import INTERRUPTED
from portbench.runner.cli.options import as_arguments, bench_options, given
from portbench.runner.options import read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.unattended import meeting_places


class _WithPytest(click.Command):
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
@click.option("--dry-run", is_flag=True, help="show the rows that would be measured, and measure none")
@click.option("--json", "as_json", is_flag=True, help="print the run file, and everything else on standard error")
@click.pass_context
def COMMAND(context: click.Context, /, dry_run: bool, as_json: bool, **values: Any) -> int:
    asked = given(values)
    with one_line():
        options = read_options(asked)
        rows = plan(options)
    if dry_run:
        _show(rows, as_json)
        if any(row.entry.family is Family.FOREIGN for row in rows):
            for line in meeting_places(options):
                click.echo(f"foreign images on {line}", err=True)
        return 0
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        status, run_file = measure([*as_arguments(asked), *context.meta["pytest"]])
    if as_json and run_file is not None:
        with one_line(StorageError):
            click.echo(to_json(read(run_file)), nl=False)
    return status


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
