"""Flash an image onto a board, and show what answers.

RUNTIME is an id of the catalogue, a .uf2 file, or a release as micropython@latest. A board on USB, or the one that
--device names, is flashed and asked. Without one an emulated board boots the image, and its events, console,
UARTs, network and pins are shown; `--where silicon` needs a board. The status is 1 if nothing answers.
"""

import json
from typing import Any

import click

from portbench.boards.kinds import Listener
from portbench.console import shown, tell
from portbench.firmware.releases import usual_index
from portbench.runner.cli.options import Seconds, bench_option, bench_options
from portbench.runner.flashing import flash
from portbench.runner.options import read_options


@click.command()
@click.argument("runtime")
@bench_options("board", "where", "family")
@bench_option("device", multiple=False)
@click.option(
    "--seconds", type=Seconds(), default=5.0, show_default=True, help="simulated time that an emulated board runs"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def COMMAND(runtime: str, seconds: float, as_json: bool, **values: Any) -> int:
    options = read_options({**values, "runtime": runtime})
    for line in usual_index().remarks:
        tell(line)
    found = flash(options, seconds, Listener(tell, lambda left: tell(f"hold BOOTSEL and plug in, {left:.0f} s left")))
    if as_json:
        click.echo(json.dumps(found.as_data(), indent=1))
    else:
        click.echo(shown(f"{found.board.id}, {found.where}: {found.image.path}"))
        for line in found.brief:
            click.echo(f"  {shown(line)}")
    return 0 if found.alive else 1
