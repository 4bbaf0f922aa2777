"""Decode one exchange of a row: every SPI frame by register name, with its time, and who took how long.

The run is made once as it is and once traced, and the command fails if the two differ in anything.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from portbench.boards import BoardError
from portbench.clients import DeploymentError
from portbench.firmware.catalogue import CatalogueError
from portbench.firmware.hash_lock import HashLockError
from portbench.firmware.images import ImageError
from portbench.firmware.native_config import NativeConfigError
from portbench.firmware.uf2 import Uf2Error
from portbench.runner.cli.console import console
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_option, bench_options, given
from portbench.runner.client_result import RunFailed
from portbench.runner.options import read_options
from portbench.runner.plan import plan

_FAULTS = (
    BoardError,
    CatalogueError,
    DeploymentError,
    HashLockError,
    ImageError,
    NativeConfigError,
    RunFailed,
    Uf2Error,
)
_FILE_COLUMNS = 160


@click.command()
@bench_option("runtime", single=True, default="portbench-native", show_default=True)
@bench_options("profile", "workload", "board", "turnaround_us", "phy_link_delay_s", single=True)
@click.option(
    "--exchange",
    type=click.IntRange(1),
    metavar="N",
    help="which exchange with the PC, from 2 (default: the middle one)",
)
@click.option("--pc", type=click.IntRange(1), metavar="CYCLES", help="sample the program counters each so many cycles")
@click.option("--json", "as_json", is_flag=True, help="print the trace for programs")
@click.option("--pcap", type=click.Path(path_type=Path), help="write all frames of the run there, for Wireshark")
def COMMAND(exchange: int | None, pc: int | None, as_json: bool, pcap: Path | None, **values: Any) -> None:
    with one_line(*_FAULTS):
        needs_engine()
        from portbench.runner.trace.record import trace_row
        from portbench.runner.trace.view import show

        bench = replace(read_options(given(values) | {"where": "emulated", "runs": "1"}), quick=True)
        row = plan(bench)[0]
        exchanges = row.workload.exchanges(row.settings)
        if pcap is not None:
            pcap.open("wb").close()  # that it cannot be written is told before a minute's work
        number = exchange or max(2, exchanges // 2)
        trace = trace_row(row, bench, number, pc_sample_cycles=pc or 0, capture=pcap)
    if as_json:
        about = {"runtime": row.entry.id, "profile": row.profile.name, "workload": row.workload.name}
        click.echo(json.dumps(about | trace.as_json(), indent=1))
    else:
        show(trace, f"{row.label}, {row.workload.exchange} {number} of {exchanges}", console(_FILE_COLUMNS))
