"""Show the attached boards, with their names for --device and their runtimes.

Asking interrupts the program that runs on a board.
"""

import json
import textwrap
from typing import Any

import click

from portbench.boards import Deadline
from portbench.boards.usb.discovery import HEADING, AttachedBoard, attached_selectors, listing
from portbench.console import console
from portbench.runner.cli.options import Seconds

_LOOK_S = 0.1


@click.command()
@click.option("--no-ask", is_flag=True, help="do not interrupt boards: show only what USB and drives report")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option("--wait-s", type=Seconds(), metavar="SECONDS", help="wait for a board; fail if none comes")
def COMMAND(no_ask: bool, as_json: bool, wait_s: float | None) -> None:
    if wait_s is not None:
        Deadline(wait_s, "boards").poll(attached_selectors, _LOOK_S, "a board to be attached")
    found = listing(ask=not no_ask)
    if as_json:
        click.echo(json.dumps([_described(board) for board in found], indent=1))
        return
    out = console()
    if not found:
        click.echo("no board is attached")
        return
    rows = [HEADING, *(board.cells() for board in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(map(str.ljust, row, widths)).rstrip()
        # A line for each board where a program may read it; a terminal would break it within a path.
        click.echo(_broken(line, out.width) if out.is_terminal else line)


def _broken(line: str, width: int) -> str:
    return textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _described(board: AttachedBoard) -> dict[str, Any]:
    device = board.device
    volume = device.volume or device.block_device
    return {
        "device": board.selector,
        "usb_id": None if device.usb_id is None else str(device.usb_id),
        "runtime": board.runtime or None,
        "version": board.version or None,
        "board": board.board_id or board.machine or None,
        "port": device.port,
        "volume": None if volume is None else str(volume),
        "state": board.state,
        "emulated": device.emulated,
        "advice": board.advice or None,
    }
