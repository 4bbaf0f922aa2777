"""A row run again on an emulated board: attributed, recorded, profiled, or with one change.

The row's image and client are flashed once, as in a bench run; each run starts from that flash. A recorded run must
equal the plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from portbench.boards import BoardError, Deadline, RunOutput
from portbench.boards.emulated.board import own_network
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Replay, WireLog
from portbench.boards.emulated.run import Figures, Run
from portbench.boards.emulated.trace import busiest, cable_us, exchange_window
from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.results.model import MOST_FRAMES, CableFrame, IntnLevel, Layouts, Row, SpiFrames, Waveform, WhatIf
from portbench.runner.boards_for import emulated_board
from portbench.runner.collect import ClientResult, RowDraft, check_result
from portbench.runner.options import What
from portbench.runner.plan import PlannedRow
from portbench.runner.profile.attributed import with_names
from portbench.runner.program import Peer, build_program, image_store
from portbench.runner.stages import PreparedBoard, Stage, StageClock
from portbench.where import Where
from portbench.workloads import Served, WorkloadSettings

_NS: float = 1000.0


class ReplayedRow:
    """A row with prepared flash, for any number of runs. All methods raise PortbenchError."""

    def __init__(self, row: PlannedRow, elf: Path | None = None) -> None:
        if row.entry.family.traits.timed_by_pc:
            raise PortbenchError(
                f"{row.entry.id}: a foreign image does not report the end of its run; choose another runtime"
            )
        self.planned = row
        self.elf = elf

    @classmethod
    def quick(cls, row: PlannedRow, what: What) -> ReplayedRow:
        """The row with few exchanges, and the user's settings in `what`."""
        settings = replace(what, quick=True).settings_for(row.workload, row.profile)
        return cls(replace(row, settings=settings, number=1, of=1))

    @cached_property
    def prepared(self) -> tuple[EmulatedConfig, bytes]:
        """The board's surroundings, and its flash with the row's image and client."""
        return self._prepare(self.planned)

    def _prepare(self, row: PlannedRow) -> tuple[EmulatedConfig, bytes]:
        clock = StageClock(row.label, row.how.timeouts_s, lambda stage: None)
        with TemporaryFolder("portbench-replay") as scratch, emulated_board(row) as board:
            assert board.own_network is not None
            peer = Peer(board.own_network.server, board.own_network.port)
            image = image_store([row.entry]).obtain(row.entry)
            PreparedBoard(board).prepare(build_program(row, image, board, peer, scratch), clock)
            return replace(board.config, **row.workload.equipment(row.settings)), board.contents

    @cached_property
    def replay(self) -> Replay:
        """The row's run, to be repeated."""
        return self._replay(*self.prepared)

    @cached_property
    def figures(self) -> Figures:
        """The figures of the plain run."""
        return self.finished_run()[1]

    def finished_run(self) -> tuple[Run, Figures]:
        """The plain run at its end, and its figures."""
        run = self.replay.start()
        figures = run.to_end(self.deadline())
        self._result(figures)
        return run, figures

    def row(self) -> Row:
        """The row with its attribution."""
        attributed = self.replay.attribute(self.planned.workload.timed, self.deadline())
        if attributed.figures != self.figures:
            raise BoardError(f"{self.planned.label}: recording it changed the run; the engine's recorder is at fault")
        image = image_store([self.planned.entry]).obtain(self.planned.entry).path
        return self._as_row(self.figures, with_names(attributed.attribution, image, self.elf))

    def what_if(self, row: Row) -> Iterator[WhatIf]:
        """The gain of each change to `row`, measured by running it."""
        for name, title, change in self._changes(row):
            value = self._as_row(self._replay(*change()).run(self.deadline()), None).value
            if value is not None and row.value is not None:
                times = self.planned.workload.headline.factor(value, row.value)
                yield WhatIf(name=name, title=title, value=value, times=times)

    def layouts(self, number: int) -> Layouts:
        """The figures as linked, without the cost of cache misses, and of so many drawn layouts of the flash."""
        config, flash = self.prepared
        drawn = [replace(config, flash_layout=seed) for seed in range(1, number + 1)]
        with ThreadPoolExecutor(self.planned.place.parallel) as threads:
            changed = [config, replace(config, xip_miss_cost=False), *drawn]
            figures = threads.map(lambda each: self._figures(each, flash), changed)
            linked, free, *others = figures
        return Layouts(linked=linked, free=free, drawn=others)

    def _figures(self, config: EmulatedConfig, flash: bytes) -> dict[str, float]:
        return self._result(self._replay(config, flash).run(self.deadline())).measurement.figures

    def waveform(self) -> Waveform | None:
        """The middle exchange of the row; None without exchanges."""
        if not self.planned.is_networked or self.planned.board.network is None:
            return None
        session = busiest(self.figures.sessions)
        if session is None or not session.received_us:
            return None
        number = max(1, len(session.received_us) // 2)
        window = exchange_window(self.figures.sessions, number)
        wires = self.replay.wires(self.figures, window, self.deadline(), MOST_FRAMES)
        return waveform_of(wires, self.planned.workload.exchange, number)

    def _changes(self, row: Row) -> Iterator[tuple[str, str, Callable[[], tuple[EmulatedConfig, bytes]]]]:
        def with_config(**changes: object) -> Callable[[], tuple[EmulatedConfig, bytes]]:
            return lambda: (replace(self.prepared[0], **changes), self.prepared[1])  # type: ignore[arg-type]

        def with_settings(settings: WorkloadSettings) -> Callable[[], tuple[EmulatedConfig, bytes]]:
            return lambda: self._prepare(replace(self.planned, settings=settings))

        yield "no_cache_misses", "no flash cache miss costs anything", with_config(xip_miss_cost=False)
        for name, (title, settings) in self.planned.workload.alternatives(self.planned.settings).items():
            yield name, title, with_settings(settings)
        if not self.planned.is_networked:
            return
        yield "spi_twice", "SPI twice as fast", with_config(spi_speed=2)
        yield "turnaround_0", "the PC answers at once", with_config(turnaround_us=0)
        if isinstance(self.planned.workload, Served) and self.planned.workload.secured:
            yield "segments_1460", "the PC sends TCP segments of 1460 bytes", with_config(peer_mss=1460)
        if row.conditions.intn is False and "intn" in self.planned.entry.family.traits.profile_keys:
            yield "intn", "INTn connected", self._with_intn

    def _with_intn(self) -> tuple[EmulatedConfig, bytes]:
        profile = replace(self.planned.profile, intn=True)
        return self._prepare(replace(self.planned, profile=profile))

    def _replay(self, config: EmulatedConfig, flash: bytes) -> Replay:
        settings = self.planned.settings.model_dump(mode="json")
        return Replay(self.planned.board, config, flash, self.planned.workload.name, settings)

    def deadline(self, times: float = 1) -> Deadline:
        """The limit of a run, which takes so many times as long."""
        return Deadline(times * self.planned.how.timeouts_s[Stage.RUN], self.planned.label)

    def _result(self, figures: Figures) -> ClientResult:
        return check_result(figures.result, self.planned.workload, self.planned.settings, figures.sessions)

    def _as_row(self, figures: Figures, attribution: dict[str, object] | None) -> Row:
        draft = RowDraft(self.planned, Where.EMULATED, attribution=attribution)
        draft.image = image_store([self.planned.entry]).obtain(self.planned.entry)
        draft.own_network = own_network(self.prepared[0])
        return draft.measured(self._result(figures), RunOutput(figures.result, []))


def waveform_of(wires: WireLog, noun: str, number: int) -> Waveform:
    """Return the wires of the network chip in the exchange `number`, as a page shows them."""

    def ns(time_us: float) -> int:
        return round((time_us - wires.start_us) * _NS)

    cable: list[CableFrame] = []
    for record in wires.cable:
        length, took_us = record["len"], cable_us(record["len"])
        # Frames from the board are recorded when they leave, frames to it when they arrive.
        begun_us = max(record["t_us"] - (0.0 if record["from_board"] else took_us), wires.start_us)
        cable.append(
            CableFrame(
                start_ns=ns(begun_us),
                duration_ns=round(took_us * _NS),
                sender="board" if record["from_board"] else "pc",
                length_bytes=length,
            )
        )
    return Waveform(
        noun=noun,
        number=number,
        duration_ns=ns(wires.end_us),
        spi=SpiFrames(
            start_ns=[ns(frame.start_us) for frame in wires.frames],
            duration_ns=[round(frame.duration_us * _NS) for frame in wires.frames],
            name=[frame.name for frame in wires.frames],
            write=[frame.write for frame in wires.frames],
            wire_bytes=[frame.wire_bytes for frame in wires.frames],
        ),
        spi_left_out=wires.frames_number - len(wires.frames),
        cable=cable,
        intn=[IntnLevel(at_ns=ns(time_us), high=high) for time_us, high in wires.intn],
    )
