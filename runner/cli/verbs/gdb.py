"""Debug a row's run with gdb, from power-up on.

ROW is RUNTIME/PROFILE or RUNTIME (default portbench-native). gdb moves no simulated time: the run's figures are
compared with those of a run without it.
"""

from __future__ import annotations

from typing import Any

import click

from portbench.engine import needs_engine
from portbench.runner.cli.row import planned_row, row_argument
from portbench.runner.cli.serving import until_stopped


@click.command()
@row_argument
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=3333,
    show_default=True,
    help="port for gdb; 0: a free one",
)
def COMMAND(row: str, port: int, **values: Any) -> int:
    needs_engine()
    from portbench.boards.emulated.gdb_server import GdbServer
    from portbench.runner.replayed import ReplayedRow

    planned, bench = planned_row(row, values)
    server = GdbServer(port, lambda line: click.echo(line, err=True))
    try:
        replayed = ReplayedRow(planned, bench)
        replay, figures = replayed.replay, replayed.figures
        with until_stopped() as wait:
            click.echo(f"{planned.label} waits at its power-up; Ctrl-C ends it\n  {server.hint}", err=True)
            again = replay.debug(figures, server, wait)
    finally:
        server.close()
    if again is None:
        return 0
    same = again == figures
    click.echo(f"{again.end_us:.3f} us of simulated time; " + (_SAME if same else _OTHER), err=True)
    return 0 if same else 1


_SAME = "the same figures as without gdb"
_OTHER = "other figures than without gdb, which changed registers or memory, or reset the cores"
