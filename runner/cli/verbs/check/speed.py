"""Measure the speed and memory of the emulated board.

They are compared with the chip, with rp2040py and with rp2040js. Figures with a target have to meet it.
"""

from __future__ import annotations

from typing import Any

import click

from portbench.engine import needs_engine
from portbench.runner.cli.checking import carry_out, check_options, tell
from portbench.runner.cli.options import bench_option
from portbench.runner.options import DEFAULT_BOARD


@click.command()
@check_options
@bench_option("board", default=DEFAULT_BOARD, show_default=True, help="Kind of board.")
@click.option("--quick", is_flag=True, help="Keep rows as short as possible, without targets.")
def COMMAND(board: str, quick: bool, **shared: Any) -> int:
    needs_engine()
    from portbench.boards import board_definition
    from portbench.firmware import catalogue
    from portbench.runner.checks.speed.check import Speed
    from portbench.runner.jobs.run import PROJECT
    from portbench.runner.program import image_store

    check = Speed(tell, board_definition(board), image_store(catalogue.load()), quick, PROJECT)
    return carry_out(check, **shared)
