"""Switch a running emulated board off and on, and press its BOOTSEL button."""

import click

from portbench.boards import Deadline
from portbench.runner.cli.desk import ANSWER_S, controls


@click.command()
@click.argument("name")
@click.option("--bootsel", is_flag=True, help="hold BOOTSEL while it starts: the boot loader runs")
def COMMAND(name: str, bootsel: bool) -> None:
    with controls(name) as board:
        board.call("power_cycle", Deadline(ANSWER_S, name), bootsel=bootsel)
