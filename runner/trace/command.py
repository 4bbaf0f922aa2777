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

import pytest
from rich.console import Console

from portbench.boards import BoardError, Deadline, board_definition
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Replay
from portbench.boards.emulated.trace import MessageTrace
from portbench.clients import DeploymentError
from portbench.firmware.hash_lock import HashLockError
from portbench.firmware.images import ImageError, ImageStore
from portbench.firmware.native_config import NativeConfigError
from portbench.firmware.uf2 import Uf2Error
from portbench.results.atomic import replace_file
from portbench.runner.client_result import RunFailed, check_result
from portbench.runner.options import DEFAULT_BOARD, BenchOptions
from portbench.runner.plan import PlannedRun, plan
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
    pytest.UsageError,
)
_FILE_COLUMNS = 160


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 with one line on stderr."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_FILE_COLUMNS)
    try:
        bench = BenchOptions(
            board=board_definition(options.board),
            runtimes=(options.runtime,),
            profiles=(options.profile,) if options.profile else (),
            where="emulated",
            runs=1,
            messages=options.messages,
            turnaround_us=options.turnaround_us,
            phy_link_delay_s=options.phy_link_delay_s,
        )
        run = plan(bench)[0]
        number = options.message or max(2, options.messages // 2)
        trace = trace_row(run, bench, number, pc_sample_cycles=options.pc, capture=options.pcap)
        if options.json is not None:
            report = {"runtime": run.entry.id, "profile": run.profile.name} | trace.as_json()
            replace_file(options.json, json.dumps(report, indent=1) + "\n")
    except _FAULTS as error:
        print(f"trace: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"trace: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    show(trace, f"{run.label}, message {number} of {options.messages}", console)
    return 0


def trace_row(
    run: PlannedRun, options: BenchOptions, number: int, *, pc_sample_cycles: int = 0, capture: Path | None = None
) -> MessageTrace:
    """Message `number` of the row. `capture`: a pcap file for all frames of the run. Raises BoardError and its like."""
    config, flash = prepared_flash(run, options)
    deadline = Deadline(options.timeouts_s[Stage.RUN], run.label)
    figures = Replay(options.board, config, flash).run(deadline)
    check_result(figures.result, options.messages)
    traced = Replay(options.board, replace(config, capture=capture), flash)
    return traced.trace(figures, number, deadline, pc_sample_cycles=pc_sample_cycles)


def prepared_flash(run: PlannedRun, options: BenchOptions) -> tuple[EmulatedConfig, bytes]:
    """A board's surroundings and flash after the row's image and client have been put on it."""
    image = ImageStore([run.entry]).obtain(run.entry)
    clock = StageClock(run.label, options.timeouts_s, lambda stage: None)
    with (
        tempfile.TemporaryDirectory(prefix="portbench-trace-") as scratch,
        EmulatedBoard(
            options.board, turnaround_us=options.turnaround_us, phy_link_delay_s=options.phy_link_delay_s
        ) as board,
    ):
        assert board.own_network is not None
        peer = Peer(board.own_network.server, board.own_network.port)
        program = build_program(run, image, board, peer, options, Path(scratch))
        PreparedBoard(board).prepare(program, clock)
        flash = board.control("flash", clock.stage(Stage.RUN))["flash"]
        return board.config, base64.b64decode(flash)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m portbench.runner.trace.command", description=__doc__)
    add = parser.add_argument
    add("--runtime", default="portbench-native", help="id of the catalogue or .uf2 file (default %(default)s)")
    add("--profile", help="such as tuned or as-published (default: the runtime's first)")
    add("--board", default=DEFAULT_BOARD, help="board definition (default %(default)s)")
    add("--messages", type=_positive, default=20, help="messages of the run (default %(default)s)")
    add("--message", type=_positive, help="the message to trace, from 2 (default: the middle one)")
    add("--turnaround-us", type=_positive, default=200, help="time the simulated PC takes (default %(default)s)")
    add("--phy-link-delay-s", type=float, default=1.5, help="time until the link is up (default %(default)s)")
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
