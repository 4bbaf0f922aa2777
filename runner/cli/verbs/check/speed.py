"""Measure the emulated board itself: its speed and memory, against the chip, rp2040py and rp2040js.

What cannot be had is skipped, with the reason.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import click

from portbench.boards import board_definition
from portbench.errors import OptionError
from portbench.firmware import catalogue
from portbench.results.environment import describe_machine
from portbench.runner.checks.speed.figures import Figure, table
from portbench.runner.cli.console import console
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_option
from portbench.runner.images import image_store
from portbench.runner.options import DEFAULT_BOARD
from portbench.runner.plugin import PROJECT

_FILE_COLUMNS = 200


@click.command()
@bench_option("board", default=DEFAULT_BOARD, show_default=True, help="kind of board")
@click.option(
    "--part",
    "chosen",
    multiple=True,
    metavar="PART",
    help="only loop, circuitpython, boards, rows, pico-w, probes, pio, cores or history (repeatable)",
)
@click.option("--quick", is_flag=True, help="rows as short as they can be, without targets")
@click.option("--check", is_flag=True, help="end with status 1 where a target is missed")
@click.option("--json", "as_json", is_flag=True, help="print the figures for programs")
def COMMAND(board: str, chosen: tuple[str, ...], quick: bool, check: bool, as_json: bool) -> int:
    with one_line():
        needs_engine()
        from portbench.runner.checks.speed.measure import PARTS, Session

        for part in chosen:
            if part not in PARTS:
                raise OptionError(f"--part: {part!r} is none of {', '.join(PARTS)}")
        session = Session(board_definition(board), image_store(catalogue.load()), quick, PROJECT)
    started_utc = datetime.now(UTC)
    load = os.getloadavg()[0]
    figures: list[Figure] = []
    for part in chosen or PARTS:
        click.echo(f"{part} ...", err=True)
        figures += PARTS[part](session)
    machine = describe_machine()
    if as_json:
        report = {
            "started_utc": started_utc.isoformat(),
            "machine": machine.model_dump(mode="json"),
            "load_before": load,
            "figures": [figure.as_json() for figure in figures],
        }
        click.echo(json.dumps(report, indent=1))
    else:
        out = console(_FILE_COLUMNS)
        out.print(table(figures))
        out.print(
            f"{machine.processor}, {machine.cores} cores, load {load:.1f} before the start. "
            "Loops and starts are in CPU time, rows and boards at once by the clock on the wall.",
            soft_wrap=True,
        )
    return int(check and any(figure.met is False for figure in figures))
