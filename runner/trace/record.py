"""Records one exchange of a row, every SPI frame with its time.

The row's image and client are put on an emulated board as a bench run does it. The run is then repeated from that
flash, once as it is and once traced, and the two may differ in nothing.
"""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path

from portbench.boards import BoardError, Deadline, Ethernet
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Figures, Replay, Run
from portbench.boards.emulated.trace import (
    ExchangeTrace,
    busiest,
    exchange_window,
    slowest_exchange,
)
from portbench.errors import PortbenchError
from portbench.runner.client_result import check_result
from portbench.runner.images import image_store
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.program import Peer, build_program
from portbench.runner.stages import PreparedBoard, Stage, StageClock
from portbench.runner.trace.pcapng import write_pcapng
from portbench.runner.trace.perfetto import write_perfetto
from portbench.runner.trace.vcd import write_vcd


@dataclass(frozen=True)
class Choice:
    """Which exchange: a number from 1, or the slowest of all."""

    number: int = 0
    slowest: bool = False


@dataclass(frozen=True)
class Files:
    """What is written beside the tables. `whole`: of the whole run from power-up, not of the exchange alone.

    A capture always has the whole run.
    """

    vcd: Path | None = None
    perfetto: Path | None = None
    pcap: Path | None = None
    pcapng: Path | None = None
    whole: bool = False

    def named(self) -> list[Path]:
        return [path for path in (self.vcd, self.perfetto, self.pcap, self.pcapng) if path is not None]


def trace_row(
    row: PlannedRow, options: BenchOptions, choice: Choice, *, pc_sample_cycles: int = 0, files: Files | None = None
) -> ExchangeTrace:
    """One exchange of the row. Raises BoardError and its like."""
    network = row.board.network
    files = files or Files()
    if files.vcd is not None and not isinstance(network, Ethernet):
        raise BoardError(f"--vcd: {row.board.id} has no Ethernet chip whose wires it could show")
    exchange = row.workload.exchange
    with tempfile.TemporaryDirectory(prefix="portbench-capture-") as scratch:
        capture = files.pcap or (Path(scratch, "frames.pcap") if files.pcapng else None)
        replay, figures = prepared_replay(row, options)
        deadline = Deadline(options.timeouts_s[Stage.RUN], row.label)
        number = slowest_exchange(figures.sessions) if choice.slowest else choice.number
        window = exchange_window(figures.sessions, number)
        recording = replay.capturing(capture).record(figures, window, deadline, pc_sample_cycles=pc_sample_cycles)
        shown = recording
        if files.whole and (files.vcd or files.perfetto):
            shown = replay.record(figures, (0.0, figures.end_us), deadline)
        if files.vcd is not None and isinstance(network, Ethernet):
            write_vcd(files.vcd, shown, network, row.label)
        if files.perfetto is not None:
            write_perfetto(files.perfetto, shown, replay.intn_pin, exchange)
        if files.pcapng is not None and capture is not None:
            write_pcapng(files.pcapng, capture, busiest(figures.sessions), replay.pc_ip, row.label, exchange)
        return replay.exchange(number, window, recording)


def prepared_replay(row: PlannedRow, options: BenchOptions) -> tuple[Replay, Figures]:
    """The row's measured run, to be repeated, and its figures. Raises BoardError and its like."""
    replay, _, figures = prepared_run(row, options)
    return replay, figures


def prepared_run(row: PlannedRow, options: BenchOptions) -> tuple[Replay, Run, Figures]:
    """The same with the run itself, at its end."""
    if row.entry.family.traits.timed_by_pc:
        raise PortbenchError(
            f"{row.entry.id}: a foreign image does not tell when its run is over; choose another runtime"
        )
    config, flash = prepared_flash(row, options)
    replay = Replay(row.board, config, flash, row.workload.name, row.settings.model_dump(mode="json"))
    run = replay.start()
    figures = run.to_end(Deadline(options.timeouts_s[Stage.RUN], row.label))
    check_result(figures.result, row.workload, row.settings, figures.sessions)
    return replay, run, figures


def prepared_flash(row: PlannedRow, options: BenchOptions) -> tuple[EmulatedConfig, bytes]:
    """A board's surroundings and flash after the row's image and client have been put on it."""
    image = image_store([row.entry]).obtain(row.entry)
    clock = StageClock(row.label, options.timeouts_s, lambda stage: None)
    with (
        tempfile.TemporaryDirectory(prefix="portbench-trace-") as scratch,
        EmulatedBoard(
            row.board,
            turnaround_us=options.turnaround_us,
            phy_link_delay_s=options.phy_link_delay_s,
            access_point=options.access_point,
        ) as board,
    ):
        assert board.own_network is not None
        peer = Peer(board.own_network.server, board.own_network.port)
        program = build_program(row, image, board, peer, options, Path(scratch))
        PreparedBoard(board).prepare(program, clock)
        flash = board.control("flash", clock.stage(Stage.RUN))["flash"]
        return board.config, base64.b64decode(flash)
