"""Stop a row's run at its power-up and let gdb take it through, instruction by instruction if need be.

gdb moves no simulated time: the run's figures are compared with those of a run without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import SETTINGS, bench_option, bench_options, given
from portbench.runner.cli.until_stopped import until_stopped
from portbench.runner.options import read_options
from portbench.runner.plan import plan


@click.command()
@bench_option("runtime", single=True, default="portbench-native", show_default=True)
@bench_options("profile", "workload", "board", *SETTINGS, single=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=3333, show_default=True, help="where gdb attaches (0: a free port)"
)
def COMMAND(port: int, **values: Any) -> int:
    with one_line():
        needs_engine()
        from portbench.boards.emulated.gdb_server import GdbServer
        from portbench.runner.replayed import ReplayedRow

        bench = replace(read_options(given(values) | {"where": "emulated", "runs": "1"}), quick=True)
        row = plan(bench)[0]
        server = GdbServer(port, lambda line: click.echo(line, err=True))
        try:
            replayed = ReplayedRow(row, bench)
            replay, figures = replayed.replay, replayed.figures
            with until_stopped() as wait:
                click.echo(f"{row.label} waits at its power-up; Ctrl-C ends it\n  {server.hint}", err=True)
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
