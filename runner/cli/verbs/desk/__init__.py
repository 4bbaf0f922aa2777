"""Keep an emulated board running, with a serial port and drives.

Measure on it with --device=usb:NAME. `portbench desk power NAME` switches its power and presses BOOTSEL, `portbench
desk pins NAME` drives its pins. Its events are in --log; docs/desk.md has the rest.
"""

from collections.abc import Callable
from pathlib import Path

import click

from portbench.boards import BoardError, Deadline
from portbench.boards.desk import UARTS
from portbench.boards.desk.control import ControlClient
from portbench.boards.desk.started import StartedDesk
from portbench.boards.registry import EmulatedState, PortLinks, read_state, runtime_dir
from portbench.console import shown
from portbench.engine import needs_engine
from portbench.runner.cli.desk import described, desk_settings
from portbench.runner.cli.options import bench_option
from portbench.runner.cli.serving import served_workload, until_stopped
from portbench.runner.options import DEFAULT_BOARD
from portbench.workloads import Workload

_START_S = 30.0


@click.command()
@click.option("--name", default="desk", show_default=True, help="name of the board")
@bench_option("board", default=DEFAULT_BOARD, show_default=True, help="kind of board")
@click.option("--flash", type=click.Path(path_type=Path), help="file that keeps its flash")
@click.option("--sd-card", type=click.Path(path_type=Path), help="file of its SD card, a FAT image")
@click.option("--pin", "pins", multiple=True, metavar="GP15=low", help="hold a pin at low, high or volts; repeatable")
@click.option("--wire", "wires", multiple=True, metavar="GP0:GP1", help="a jumper wire; repeatable")
@click.option("--free-running", is_flag=True, help="run faster than the clock where it can")
@click.option("--config", default="{}", help="further settings as JSON: docs/desk.md")
@click.option(
    "--forward",
    "forwards",
    multiple=True,
    metavar="RULE",
    help="forward a port of this PC, as tcp:8080:80; port 0 is a free one; repeatable",
)
@bench_option("workload", multiple=False, help="workload that its simulated PC serves (default: ping_pong)")
@click.option("--gdb", type=click.IntRange(0, 65535), metavar="PORT", help="port for gdb; 0: a free one")
@click.option("--log", type=click.Path(path_type=Path), help="file for its events")
def COMMAND(
    name: str,
    board: str,
    flash: Path | None,
    sd_card: Path | None,
    pins: tuple[str, ...],
    wires: tuple[str, ...],
    free_running: bool,
    config: str,
    forwards: tuple[str, ...],
    workload: str | None,
    gdb: int | None,
    log: Path | None,
) -> int:
    needs_engine()
    settings = desk_settings(config, pins, wires, wall_clock=not free_running, sd_card=sd_card)
    served = served_workload(workload)
    if (state := read_state(runtime_dir() / name)) is not None:
        raise BoardError(f"{name}: runs already, as process {state.pid}; use --name")
    options = ["--links", *(f"--forward={rule}" for rule in forwards)]
    options += [] if flash is None else ["--keep-flash", str(flash)]
    process = StartedDesk(board, settings, name, options, log)
    try:
        with until_stopped() as wait:
            return _watch(process, served, gdb, wait)
    finally:
        process.close()


def _watch(process: StartedDesk, workload: Workload, gdb: int | None, wait: Callable[[], bool]) -> int:
    """Print the board's ports and drives when they change."""
    process.wait()
    name, folder = process.name, process.folder
    deadline = Deadline(_START_S, name)
    client = ControlClient(folder, name)
    client.call("serve", deadline, workload=workload.name, settings=workload.settings_type().model_dump(mode="json"))
    if gdb is not None:
        click.echo(f"{name}: {client.call('gdb', deadline, port=gdb)['hint']}")
    forwards = client.call("forwards", deadline)["forwards"]
    client.close()
    for facts in forwards:
        click.echo(f"{name}: {described(facts)}")
    click.echo(f"{name}: measure on it with --device=usb:{name}; its PC serves {workload.name}; Ctrl-C ends it")
    links = PortLinks(folder)
    for number in range(UARTS):
        click.echo(f"{name}: UART{number} {links.path(f'uart{number}')}")
    told: list[str] = []
    notice: str | None = None
    while wait():
        if (state := process.state()) is None:
            continue
        if (lines := _lines(state, links)) != told:
            for line in lines or ["not on the bus"]:
                click.echo(f"{name}: {line}")
            told = lines
        if state.notice != notice:
            notice = state.notice
            if notice is not None:
                click.echo(f"{name}: {shown(notice)}", err=True)
    return 0


def _lines(state: EmulatedState, links: PortLinks) -> list[str]:
    lines = []
    if state.port is not None:
        lines.append(f"port {state.port}: mpremote connect {links.path('port')}")
    for number, port in enumerate(state.further_ports, 2):
        lines.append(f"port {number} {port}: {links.path(f'port{number}')}")
    if state.volume is not None:
        lines.append(f"drive {state.volume_label} at {state.volume}")
    lines += [f"drive {Path(volume).name} at {volume}" for volume in state.further_volumes]
    if state.unused:
        lines.append(f"no driver for {', '.join(state.unused)}")
    return [shown(line) for line in lines]
