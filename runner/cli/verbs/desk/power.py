"""Switch a running emulated board off and on, as a hand at its cable and BOOTSEL button does."""

from __future__ import annotations

import click

from portbench.boards import Deadline
from portbench.boards.emulated.control import ControlClient
from portbench.boards.registry import runtime_dir
from portbench.runner.cli.faults import one_line

_ANSWER_S = 10.0


@click.command()
@click.argument("name")
@click.option("--bootsel", is_flag=True, help="hold BOOTSEL meanwhile: the boot loader starts")
def COMMAND(name: str, bootsel: bool) -> None:
    with one_line():
        client = ControlClient(runtime_dir() / name, name)
        client.call("power_cycle", Deadline(_ANSWER_S, name), bootsel=bootsel)
        client.close()
