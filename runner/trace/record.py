"""Records one exchange of a row, every SPI frame with its time.

The row's image and client are put on an emulated board as a bench run does it. The run is then repeated from that
flash, once as it is and once traced, and the two may differ in nothing.
"""

from __future__ import annotations

import base64
import tempfile
from dataclasses import replace
from pathlib import Path

from portbench.boards import Deadline
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Replay
from portbench.boards.emulated.trace import ExchangeTrace
from portbench.firmware.catalogue import Family
from portbench.runner.client_result import RunFailed, check_result
from portbench.runner.images import image_store
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.program import Peer, build_program
from portbench.runner.stages import PreparedBoard, StageClock
from portbench.runner.timeouts import Stage


def trace_row(
    row: PlannedRow, options: BenchOptions, number: int, *, pc_sample_cycles: int = 0, capture: Path | None = None
) -> ExchangeTrace:
    """Exchange `number` of the row. `capture`: a pcap file for all frames. Raises BoardError and its like."""
    if row.entry.family is Family.FOREIGN:
        raise RunFailed(f"{row.entry.id}: a foreign image does not tell when its run is over; trace another runtime")
    config, flash = prepared_flash(row, options)
    deadline = Deadline(options.timeouts_s[Stage.RUN], row.label)
    settings = row.settings.model_dump(mode="json")
    figures = Replay(row.board, config, flash, row.workload.name, settings).run(deadline)
    check_result(figures.result, row.workload, row.settings, figures.sessions)
    traced = Replay(row.board, replace(config, capture=capture), flash, row.workload.name, settings)
    return traced.trace(figures, number, deadline, pc_sample_cycles=pc_sample_cycles)


def prepared_flash(row: PlannedRow, options: BenchOptions) -> tuple[EmulatedConfig, bytes]:
    """A board's surroundings and flash after the row's image and client have been put on it."""
    image = image_store([row.entry]).obtain(row.entry)
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
