"""Ping a running emulated board from its simulated PC, in simulated time."""

from __future__ import annotations

import click

from portbench.boards.emulated.network import MAX_BYTES
from portbench.runner.cli.desk import controls
from portbench.runner.cli.pinging import Pinging
from portbench.runner.cli.serving import until_stopped


@click.command()
@click.argument("name")
@click.argument("address", required=False)
@click.option("-c", "--count", type=click.IntRange(1, 65_535), help="stop after so many (default: at Ctrl-C)")
@click.option("-s", "--size", type=click.IntRange(0, MAX_BYTES), default=56, show_default=True, help="bytes of data")
@click.option("-i", "--interval-s", type=click.FloatRange(0.001, 3600), default=1.0, show_default=True)
@click.option(
    "-W", "--wait-s", type=click.FloatRange(0.001, 3600), default=1.0, show_default=True, help="for an answer"
)
def COMMAND(name: str, address: str | None, count: int | None, size: int, interval_s: float, wait_s: float) -> int:
    with controls(name) as board:
        pinging = Pinging(board, name, address, size=size, interval_us=interval_s * 1e6, wait_us=wait_s * 1e6)
        with until_stopped() as wait:
            while not pinging.over(count) and wait():
                for line in pinging.go_on(count):
                    click.echo(line)
        for line in pinging.summary():
            click.echo(line)
    return 0 if pinging.received else 1
