"""`python -m portbench.runner.trace.command`: one message of a row, every SPI frame by register name and with its time.

The row's image and client are put on an emulated board as a bench run does it. The run is then repeated from that
flash, once as it is and once traced, and the command fails if the two differ in anything.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from portbench.boards import BoardError, Deadline
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Replay
from portbench.boards.emulated.trace import MessageTrace
from portbench.clients import DeploymentError
from portbench.firmware.catalogue import CatalogueError
from portbench.firmware.hash_lock import HashLockError
from portbench.firmware.images import ImageError, ImageStore
from portbench.firmware.native_config import NativeConfigError
from portbench.firmware.uf2 import Uf2Error
from portbench.results.atomic import replace_file
from portbench.runner.client_result import RunFailed, check_result
from portbench.runner.options import BenchOptions, OptionError, read_options, workload_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import Peer, build_program
from portbench.runner.stages import PreparedBoard, StageClock
from portbench.runner.timeouts import Stage
from portbench.runner.trace.view import show

_FAULTS = (
    BoardError,
    DeploymentError,
    HashLockError,
    ImageError,
    NativeConfigError,
    RunFailed,
    Uf2Error,
    OptionError,
    CatalogueError,
)
_FILE_COLUMNS = 160


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 with one line on stderr."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_FILE_COLUMNS)
    try:
        bench = replace(read_options(_given(options)), quick=True)
        row = plan(bench)[0]
        exchanges = row.workload.exchanges(row.settings)
        number = options.exchange or max(2, exchanges // 2)
        trace = trace_row(row, bench, number, pc_sample_cycles=options.pc, capture=options.pcap)
        if options.json is not None:
            report = {"runtime": row.entry.id, "profile": row.profile.name, "workload": row.workload.name}
            replace_file(options.json, json.dumps(report | trace.as_json(), indent=1) + "\n")
    except _FAULTS as error:
        print(f"trace: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"trace: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    show(trace, f"{row.label}, {row.workload.exchange} {number} of {exchanges}", console)
    return 0


def trace_row(
    row: PlannedRow, options: BenchOptions, number: int, *, pc_sample_cycles: int = 0, capture: Path | None = None
) -> MessageTrace:
    """Exchange `number` of the row. `capture`: a pcap file for all frames. Raises BoardError and its like."""
    config, flash = prepared_flash(row, options)
    deadline = Deadline(options.timeouts_s[Stage.RUN], row.label)
    settings = row.settings.model_dump(mode="json")
    figures = Replay(row.board, config, flash, row.workload.name, settings).run(deadline)
    check_result(figures.result, row.workload, row.settings, figures.sessions)
    traced = Replay(row.board, replace(config, capture=capture), flash, row.workload.name, settings)
    return traced.trace(figures, number, deadline, pc_sample_cycles=pc_sample_cycles)


def prepared_flash(row: PlannedRow, options: BenchOptions) -> tuple[EmulatedConfig, bytes]:
    """A board's surroundings and flash after the row's image and client have been put on it."""
    image = ImageStore([row.entry]).obtain(row.entry)
    clock = StageClock(row.label, options.timeouts_s, lambda stage: None)
    with (
        tempfile.TemporaryDirectory(prefix="portbench-trace-") as scratch,
        EmulatedBoard(
            row.board, turnaround_us=options.turnaround_us, phy_link_delay_s=options.phy_link_delay_s
        ) as board,
    ):
        assert board.own_network is not None
        peer = Peer(board.own_network.server, board.own_network.port)
        program = build_program(row, image, board, peer, options, Path(scratch))
        PreparedBoard(board).prepare(program, clock)
        flash = board.control("flash", clock.stage(Stage.RUN))["flash"]
        return board.config, base64.b64decode(flash)


def _given(options: argparse.Namespace) -> dict[str, object]:
    """As `read_options` takes them; the trace is of one run on an emulated board."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    one = {name: [given[name]] for name in ("runtime", "profile", "workload") if name in given}
    return given | one | {"where": "emulated", "runs": "1"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m portbench.runner.trace.command", description=__doc__)
    add = parser.add_argument
    add("--runtime", default="portbench-native", help="id of the catalogue or .uf2 file (default %(default)s)")
    add("--profile", help="such as tuned or as-published (default: the runtime's first)")
    add("--workload", help="what runs (default: the one that is measured by default)")
    add("--board", help="board definition (default: the runtime's)")
    for option in workload_options():
        add(option.flag, help=f"{option.help}; here the shortest")
    add("--exchange", type=_positive, help="the exchange to trace, from 2 (default: the middle one)")
    add("--turnaround-us", default="200", help="time the simulated PC takes (default %(default)s)")
    add("--phy-link-delay-s", default="1.5", help="time until the link is up (default %(default)s)")
    add("--pc", type=_positive, default=0, metavar="CYCLES", help="sample the program counters each so many cycles")
    add("--json", type=Path, help="write the trace there, too")
    add("--pcap", type=Path, help="write all frames of the run there, for Wireshark")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} has to be 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
