"""A closer look at a row that has been measured on an emulated board, by running it again with few exchanges."""

from __future__ import annotations

from dataclasses import replace

from portbench.boards import Deadline
from portbench.boards.emulated.replay import Recording
from portbench.boards.emulated.trace import busiest, cable_us, exchange_window
from portbench.results.closer import MOST_FRAMES, CableFrame, IntnLevel, SpiFrames, Waveform, WhatIf
from portbench.runner.explain.measure import Measured
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.stages import Stage
from portbench.runner.trace.record import prepared_replay
from portbench.workloads import Readiness

_NS: float = 1000.0


def waveform(planned: PlannedRow, options: BenchOptions) -> Waveform | None:
    """The middle exchange of the row; None of a row that has none. Raises BoardError and its like."""
    if planned.workload.readiness is Readiness.BOOTED or planned.board.network is None:
        return None
    row, quick = _quick(planned, options)
    replay, figures = prepared_replay(row, quick)
    session = busiest(figures.sessions)
    if session is None or not session.received_us:
        return None
    number = max(1, len(session.received_us) // 2)
    deadline = Deadline(options.timeouts_s[Stage.RUN], f"{planned.label}: its waveform")
    recording = replay.record(figures, exchange_window(figures.sessions, number), deadline)
    return waveform_of(recording, planned.workload.exchange, number, replay.intn_pin)


def what_ifs(planned: PlannedRow, options: BenchOptions) -> list[WhatIf]:
    """What one change at a time would bring. Raises BoardError and its like."""
    measured = Measured(*_quick(planned, options))
    row = measured.row()
    return [WhatIf(**vars(each)) for each in measured.what_if(row)]


def waveform_of(recording: Recording, noun: str, number: int, intn_pin: int | None) -> Waveform:
    """What of `recording` is on the wires of the network chip."""

    def ns(time_us: float) -> int:
        return round((time_us - recording.start_us) * _NS)

    frames = recording.frames[:MOST_FRAMES]
    cable: list[CableFrame] = []
    intn: list[IntnLevel] = []
    for record in recording.records:
        if record["kind"] == "lan":
            length, took_us = record["len"], cable_us(record["len"])
            # Those from the board are recorded as they leave, those to it as they arrive.
            begun_us = max(record["t_us"] - (0.0 if record["from_board"] else took_us), recording.start_us)
            cable.append(
                CableFrame(
                    start_ns=ns(begun_us),
                    duration_ns=round(took_us * _NS),
                    sender="board" if record["from_board"] else "pc",
                    length_bytes=length,
                )
            )
        elif record["kind"] == "pins" and intn_pin is not None:
            high = bool(record["level"] >> intn_pin & 1)
            if not intn or intn[-1].high != high:
                intn.append(IntnLevel(at_ns=ns(record["t_us"]), high=high))
    return Waveform(
        noun=noun,
        number=number,
        duration_ns=ns(recording.end_us),
        spi=SpiFrames(
            start_ns=[ns(frame.start_us) for frame in frames],
            duration_ns=[round(frame.duration_us * _NS) for frame in frames],
            name=[frame.name for frame in frames],
            write=[frame.write for frame in frames],
            wire_bytes=[frame.wire_bytes for frame in frames],
        ),
        spi_left_out=len(recording.frames) - len(frames),
        cable=cable,
        intn=intn,
    )


def _quick(planned: PlannedRow, options: BenchOptions) -> tuple[PlannedRow, BenchOptions]:
    quick = replace(options, quick=True)
    settings = quick.settings_for(planned.workload, planned.profile)
    return replace(planned, settings=settings, number=1, of=1), quick
