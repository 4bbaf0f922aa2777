"""Serve an attached board's console on the network.

Another PC measures on it with --device=rfc2217://HOST:PORT. All who reach the port control the board.
"""

import click

from portbench.boards import board_definition
from portbench.boards.remote.serial_server import SerialServer
from portbench.boards.usb.board import default_bus
from portbench.boards.usb.bus import Target, parse_selector, select
from portbench.runner.cli.options import bench_option
from portbench.runner.cli.serving import until_stopped
from portbench.runner.options import DEFAULT_BOARD


@click.command()
@bench_option("board", default=DEFAULT_BOARD, show_default=True, help="kind of board")
@bench_option("device", multiple=False, default="auto", show_default=True)
@click.option("--listen", default="127.0.0.1:2217", metavar="HOST:PORT", show_default=True, help="where")
@click.option("--raw", is_flag=True, help="a plain socket instead of RFC 2217")
def COMMAND(board: str, device: str, listen: str, raw: bool) -> int:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise click.UsageError(f"--listen: {listen!r} is not HOST:PORT", click.get_current_context())
    definition = board_definition(board)
    selector = parse_selector(device)
    target = Target(default_bus(selector), lambda devices: select(devices, selector, definition))
    target.find()
    server = SerialServer(
        target.find,
        protocol="raw" if raw else "rfc2217",
        host=host,
        port=int(port),
        log=lambda line: click.echo(line, err=True),
    )
    with server, until_stopped() as wait:
        click.echo(f"--device={server.url}")
        while wait():
            pass
    return 0
