"""Debug a row's run with gdb, from power-up on.

ROW is RUNTIME/PROFILE or RUNTIME (default portbench-native). gdb moves no simulated time: the run's figures are
compared with those of a run without it.
"""

from functools import partial
from typing import Any

import click

from portbench.engine import needs_engine
from portbench.runner.cli.row import replayed_row, row_argument
from portbench.runner.cli.serving import until_stopped

tell = partial(click.echo, err=True)


@click.command()
@row_argument
@click.option(
    "--port", type=click.IntRange(0, 65535), default=3333, show_default=True, help="port for gdb; 0: a free one"
)
def COMMAND(row: str, port: int, **values: Any) -> int:
    needs_engine()
    from portbench.boards.emulated.gdb_server import GdbServer

    replayed = replayed_row(row, values)
    planned = replayed.planned
    server = GdbServer(port, tell)
    try:
        tell(f"{planned.label}: puts the image and its client on an emulated board")
        replay = replayed.replay
        tell(f"{planned.label}: runs it once without gdb, for its figures")
        figures = replayed.figures
        with until_stopped() as wait:
            tell(f"{planned.label} waits at its power-up; Ctrl-C ends it\n  {server.hint}")
            again = replay.debug(figures, server, wait)
    finally:
        server.close()
    if again is None:
        return 0
    same = again == figures
    other = "other figures than without gdb, which changed registers or memory, or reset the cores"
    tell(f"{again.end_us:.3f} us of simulated time; {'the same figures as without gdb' if same else other}")
    return 0 if same else 1
