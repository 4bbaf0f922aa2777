"""Decode one message of a row: SPI frames by register name, interrupts, network, time.

ROW is RUNTIME/PROFILE or RUNTIME (default portbench-native). It is run with and without tracing; the command fails if
the two runs differ.
"""

import json
from pathlib import Path
from typing import Any

import click

from portbench.console import console
from portbench.engine import needs_engine
from portbench.runner.cli.row import check_writable, replayed_row, row_argument

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@row_argument
@click.option(
    "--message",
    "--exchange",
    "exchange",
    type=click.IntRange(1),
    metavar="N",
    help="the message, or exchange (default: the middle one)",
)
@click.option("--first", is_flag=True, help="the first one, from the connection on")
@click.option("--slowest", is_flag=True, help="the slowest one, from the second on")
@click.option("--pc", type=click.IntRange(1), metavar="CYCLES", help="sample the program counters at this interval")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option("--vcd", type=_FILE, help="write the network chip's wires, for PulseView")
@click.option("--perfetto", type=_FILE, help="write cores, interrupts, SPI and network, for ui.perfetto.dev")
@click.option("--whole", is_flag=True, help="make both files of the whole run")
@click.option("--pcapng", type=_FILE, help="write all frames of the run, with comments, for Wireshark")
@click.option("--pcap", type=_FILE, help="write all frames of the run, without comments")
def COMMAND(
    row: str,
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
        raise click.UsageError("--message, --first and --slowest exclude each other; give one of them")
    if whole and not (vcd or perfetto):
        raise click.UsageError("--whole is for the files of --vcd and --perfetto: name one")
    needs_engine()
    from portbench.runner.trace.record import Files, trace_row
    from portbench.runner.trace.view import show

    replayed = replayed_row(row, values)
    planned = replayed.planned
    exchanges = planned.workload.exchanges(planned.settings)
    files = Files(vcd, perfetto, pcap, pcapng, whole)
    check_writable(files.named())
    number = None if slowest else 1 if first else exchange or max(1, exchanges // 2)
    trace = trace_row(replayed, number, pc_sample_cycles=pc or 0, files=files)
    if as_json:
        about = {"runtime": planned.entry.id, "profile": planned.profile.name, "workload": planned.workload.name}
        click.echo(json.dumps(about | trace.as_json(), indent=1))
    else:
        show(trace, f"{planned.label}, {planned.workload.exchange} {trace.number} of {exchanges}", console())
