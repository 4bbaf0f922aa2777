"""Options and control flow of all verbs of `portbench check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from portbench.console import console
from portbench.errors import OptionError, unknown
from portbench.runner.cli.options import F

if TYPE_CHECKING:
    from portbench.runner.checks.check import Check, Report

_OPTIONS = (
    click.option("--part", "parts", multiple=True, metavar="NAME", help="Run only this part (repeatable)."),
    click.option("--list", "only_list", is_flag=True, help="List the parts, and run none."),
    click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON."),
    click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Write the findings to FILE."),
)


def check_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def tell(line: str) -> None:
    """A line of progress, on standard error."""
    click.echo(line, err=True)


def carry_out(check: Check, *, parts: tuple[str, ...], only_list: bool, as_json: bool, record: Path | None) -> int:
    """Run the parts of a check; the status of the command."""
    known = check.parts()
    if strange := next((name for name in parts if name not in known), None):
        raise OptionError(f"--part: {unknown('part', strange, known)}")
    if only_list:
        click.echo("\n".join(f"{name}: {title}" for name, title in known.items()))
        return 0
    if record is not None and not record.absolute().parent.is_dir():
        raise OptionError(f"--record: {record.parent} is no folder; name a file in one")
    return _tell(check, _run(check, parts, record), as_json)


def _run(check: Check, parts: tuple[str, ...], record: Path | None) -> list[Report]:
    from portbench.signals import Interruptions

    reports: list[Report] = []
    interruptions = Interruptions()
    interruptions.listen()
    try:
        for part in parts or check.default_parts():
            reports.append(check.measure(part))
            if record is not None:
                check.record(record, reports)
        check.finish(reports)
    finally:
        interruptions.ending()
        interruptions.restore()
    return reports


def _tell(check: Check, reports: list[Report], as_json: bool) -> int:
    from portbench.runner.checks.check import faults
    from portbench.runner.checks.table import show

    if as_json:
        click.echo(json.dumps(check.document(reports), indent=1))
    else:
        show(console(), check, reports)
    found = faults(reports)
    for fault in found:
        click.echo(fault, err=True)
    return 1 if found else 0
