"""Decode one exchange of a row: SPI frames by register name, interrupts, cable, and what the time went by for.

The run is made once as it is and once traced, and the command fails if the two differ in anything.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from portbench.console import console
from portbench.runner.cli.engine import needs_engine
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import SETTINGS, bench_option, bench_options, given
from portbench.runner.cli.writable import writable
from portbench.runner.options import read_options
from portbench.runner.plan import plan

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@bench_option("runtime", single=True, default="portbench-native", show_default=True)
@bench_options("profile", "workload", "board", *SETTINGS, single=True)
@click.option(
    "--message",
    "--exchange",
    "exchange",
    type=click.IntRange(1),
    metavar="N",
    help="which exchange with the PC (default: the middle one); a workload may call it a message",
)
@click.option("--first", is_flag=True, help="the first exchange, from the connection on")
@click.option("--slowest", is_flag=True, help="the exchange, from the second on, that took longest")
@click.option("--pc", type=click.IntRange(1), metavar="CYCLES", help="sample the program counters each so many cycles")
@click.option("--json", "as_json", is_flag=True, help="print the trace for programs")
@click.option("--vcd", type=_FILE, help="write the wires of the network chip there, for PulseView and sigrok-cli")
@click.option("--perfetto", type=_FILE, help="write cores, interrupts, SPI and cable there, for ui.perfetto.dev")
@click.option("--whole", is_flag=True, help="both of the whole run from power-up, not of the exchange alone")
@click.option("--pcapng", type=_FILE, help="write all frames of the run there, with comments, for Wireshark")
@click.option("--pcap", type=_FILE, help="write all frames of the run there, without comments")
def COMMAND(
    exchange: int | None,
    first: bool,
    slowest: bool,
    pc: int | None,
    as_json: bool,
    vcd: Path | None,
    perfetto: Path | None,
    whole: bool,
    pcapng: Path | None,
    pcap: Path | None,
    **values: Any,
) -> None:
    if sum((exchange is not None, first, slowest)) > 1:
        raise click.UsageError("--message, --first and --slowest name one exchange each: give one of them")
    if whole and not (vcd or perfetto):
        raise click.UsageError("--whole is for the files of --vcd and --perfetto: name one")
    with one_line():
        needs_engine()
        from portbench.runner.trace.record import Choice, Files, trace_row
        from portbench.runner.trace.view import show

        bench = replace(read_options(given(values) | {"where": "emulated", "runs": "1"}), quick=True)
        row = plan(bench)[0]
        exchanges = row.workload.exchanges(row.settings)
        files = Files(vcd, perfetto, pcap, pcapng, whole)
        writable(files.named())  # that one cannot be written is told before a minute's work
        number = 1 if first else exchange or max(1, exchanges // 2)
        trace = trace_row(row, bench, Choice(number, slowest), pc_sample_cycles=pc or 0, files=files)
    if as_json:
        about = {"runtime": row.entry.id, "profile": row.profile.name, "workload": row.workload.name}
        click.echo(json.dumps(about | trace.as_json(), indent=1))
    else:
        show(trace, f"{row.label}, {row.workload.exchange} {trace.number} of {exchanges}", console())
