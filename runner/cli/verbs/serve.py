"""Serve a workload to boards on the network, until Ctrl-C.

The status is 1 if it cannot listen, or if no good client came in time.
"""

import queue
import time
from collections.abc import Callable
from datetime import UTC, datetime

import click

from portbench.boards.definition import SERVER_PORT
from portbench.runner.cli.group import INTERRUPTED
from portbench.runner.cli.options import Seconds, bench_option
from portbench.runner.cli.serving import served_workload, until_stopped
from portbench.server.tcp import WorkloadServer
from portbench.workloads import Session


@click.command()
@bench_option("workload", multiple=False, help="workload to serve (default: ping_pong)")
@click.option("--host", default="127.0.0.1", show_default="127.0.0.1, this PC only", help="address to listen on")
@click.option("--port", type=int, default=SERVER_PORT, show_default=True, help="TCP port, 0 for a free one")
@click.option("--once", is_flag=True, help="end after the first good session")
@click.option("--timeout", type=Seconds(), metavar="S", help="with --once: give up after this many seconds")
@click.option("--max-clients", type=click.IntRange(1), default=64, show_default=True, help="clients at a time")
@click.option(
    "--idle-timeout", type=Seconds(), default=30.0, metavar="S", show_default=True, help="cut a silent client off"
)
def COMMAND(
    workload: str | None,
    host: str,
    port: int,
    once: bool,
    timeout: float | None,
    max_clients: int,
    idle_timeout: float,
) -> int:
    served = served_workload(workload)
    sessions: queue.SimpleQueue[Session] = queue.SimpleQueue()
    server = WorkloadServer(
        served, host, port, max_clients=max_clients, idle_timeout_s=idle_timeout, on_session=sessions.put
    )
    with WorkloadServer(served, port=0) as trial:
        own = trial.measure_own_turnaround()
    with until_stopped() as goes_on, server:
        own_us = "" if own is None else f", own round trip {own.median_us:.0f} us (p99 {own.p99_us:.0f})"
        click.echo(f"listening on {server.host}:{server.port}{own_us}")
        return _report(sessions, goes_on, once, timeout if once else None)


def _report(
    sessions: queue.SimpleQueue[Session], goes_on: Callable[[], bool], once: bool, timeout_s: float | None
) -> int:
    """Print sessions as they come. Return after the first good one if `once`."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while goes_on():
        while not sessions.empty():
            session = sessions.get()
            click.echo(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {session.line()}")
            if once and session.ok:
                return 0
        if deadline is not None and time.monotonic() > deadline:
            click.echo(f"no good client within {timeout_s:g} s", err=True)
            return 1
    click.echo("stopped", err=True)
    return INTERRUPTED if once else 0
