"""How true the emulated board is: figures that others published of real boards, measured again.

Ends with status 1 where a figure of the very same image is more than 1 % from silicon. What is missing, an image or a
published script, is one line.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from portbench.errors import OptionError
from portbench.results.silicon import FigureSet, load, load_not_compared
from portbench.runner.checks.silicon import report
from portbench.runner.checks.silicon.page import publish
from portbench.runner.checks.silicon.table import tables
from portbench.runner.checks.silicon.verdict import Outcome
from portbench.runner.cli.console import console
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line

_FILE_COLUMNS = 80


@click.command()
@click.option("--only", "chosen", multiple=True, metavar="ID", help="only this set of figures (repeatable)")
@click.option("--list", "listed", is_flag=True, help="show the sets, and measure none")
@click.option("--json", "as_json", is_flag=True, help="print for programs")
@click.option(
    "--from",
    "reports",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="measure nothing; take what --json printed before (repeatable)",
)
@click.option("--publish", "page", type=click.Path(path_type=Path), metavar="PAGE", help="write a Markdown page")
def COMMAND(chosen: tuple[str, ...], listed: bool, as_json: bool, reports: tuple[Path, ...], page: Path | None) -> int:
    with one_line():
        sets = load()
        known = [each.id for each in sets]
        for name in chosen:
            if name not in known:
                raise OptionError(f"--only: {name!r} is none of {', '.join(known)}")
        wanted = [each for each in sets if not chosen or each.id in chosen]
        if listed:
            for each in wanted:
                click.echo(f"{each.id}: {len(each.silicon)} figures of {each.measured_on}, {each.relation}")
            return 0
        if page is not None and chosen:
            raise OptionError("--publish: a page has all sets; leave out --only")
        started_utc = datetime.now(UTC)
        outcomes, turnarounds = report.read(reports, wanted) if reports else _measure(wanted)
        if page is not None:
            publish(outcomes, turnarounds, load_not_compared(), page)
    if as_json:
        click.echo(json.dumps(report.as_json(outcomes, turnarounds, started_utc), indent=1))
    else:
        console(_FILE_COLUMNS).print(tables(outcomes))
    return int(any(outcome.is_fault for outcome in outcomes))


def _measure(wanted: list[FigureSet]) -> tuple[list[Outcome], report.Turnarounds]:
    needs_engine()
    from portbench.runner.checks.silicon.run import Validation

    validation = Validation(lambda what: click.echo(f"{what} ...", err=True))
    return [validation.run(each) for each in wanted], validation.turnarounds
