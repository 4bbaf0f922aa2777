"""Show the newest releases that are listed for each board, and the date of each list.

Asks the download sites of MicroPython and CircuitPython, once a day.
"""

import json

import click

from portbench.boards import known_boards
from portbench.boards.releases import target
from portbench.console import console, plain_table
from portbench.firmware import catalogue
from portbench.firmware.releases import usual_index
from portbench.runner.options import DEFAULT_BOARD


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON, with all versions")
def COMMAND(as_json: bool) -> None:
    known, index = catalogue.load(), usual_index()
    found = []
    for each in map(target, known_boards().values()):
        for family in each.names:
            listing = index.listing(family, each, known, ask=True)
            if not listing.releases:
                continue
            found.append(
                {
                    "board": each.board,
                    "family": str(family),
                    "latest": listing.stable[-1].version if listing.stable else None,
                    "preview": listing.preview.version if listing.preview else None,
                    "listed": str(listing.seen),
                    "fault": index.fault(family, each),
                    "versions": {release.version: release.url for release in listing.releases},
                }
            )
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    columns = ("board", "family", "latest", "preview", "listed")
    rows = (tuple(str(each[column] or "-").partition(".g")[0] for column in columns) for each in found)
    out = console()
    out.print(plain_table("Releases", columns, rows, ("preview",)))
    for fault in dict.fromkeys(str(each["fault"]) for each in found if each["fault"]):
        out.print(f"not brought up to date: {fault}", markup=False)
    out.print(f"measure one: portbench run --board {DEFAULT_BOARD} --runtime micropython@latest", markup=False)
