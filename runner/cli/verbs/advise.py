"""Advise which firmware to flash on a board, with a first program.

The figures come with portbench: no board, image or engine is needed.
"""

import json

import click

from portbench.console import console
from portbench.results.answer import CODE
from portbench.results.shipped import shipped_boards
from portbench.runner.advice import advise as find
from portbench.runner.advice import as_data, lines
from portbench.runner.options import DEFAULT_BOARD


@click.command(epilog=f"Boards: {', '.join(shipped_boards())}.")
@click.argument("board", default=DEFAULT_BOARD)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(board: str, as_json: bool) -> None:
    advice = find(board)
    if as_json:
        click.echo(json.dumps(as_data(advice), indent=1))
        return
    out = console()
    for line in lines(advice):
        if line.startswith(CODE):
            click.echo(line)
        else:
            out.print(line, markup=False)
