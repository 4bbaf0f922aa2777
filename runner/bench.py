"""One bench run: its boards, servers, images and rows, from the first row to the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from portbench.boards import Board, BoardUnavailable, BrokenSetup, Deadline, Progress
from portbench.boards.jitter import Jitter, draw
from portbench.boards.kinds import AUTO, SILENT, Listener
from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware.boot_roms import has_own_boot_rom
from portbench.firmware.images import ImageStore, ImageUnavailable
from portbench.results.model import Row, Status
from portbench.results.storage import StorageError
from portbench.runner.boards_for import open_board, where_for
from portbench.runner.collect import RowDraft, one_line
from portbench.runner.kinds import measurement_of
from portbench.runner.kinds.paired import PartnerBoard
from portbench.runner.kinds.row import ReadyRow
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.profile.attributed import with_names
from portbench.runner.progress import RowLog
from portbench.runner.servers import Servers
from portbench.runner.stages import PreparedBoard, Stage, StageClock
from portbench.where import Where
from portbench.workloads import Session, Turnaround

if TYPE_CHECKING:
    from portbench.server.tcp import WorkloadServer

_TAIL_LINES = 15


@dataclass(frozen=True)
class Outcome:
    """A row's end and log. `fault`: the reason for which every further row would fail too."""

    row: Row
    log: Path
    fault: Exception | None = None


class Bench:
    """Measures rows one after the other.

    A board stays open from row to row while rows need the same one; after a failure it is opened anew. `close` ends
    everything that was started, whatever state it is in, and may be called twice.
    """

    def __init__(
        self,
        options: BenchOptions,
        store: ImageStore,
        logs: Path,
        servers: Servers | None = None,
    ) -> None:
        """`logs`: the folder that gets a log of each row. `servers`: those of several benches, which outlive this."""
        self._what, self._output = options.what, options.output
        self._store = store
        self._logs = logs
        self._stack = ExitStack()
        self._scratch = self._stack.enter_context(TemporaryFolder("portbench-bench"))
        if servers is None:
            servers = Servers(options.how, options.place.parallel)
            self._stack.callback(servers.close)
        self.servers = servers
        self._clock: StageClock | None = None
        self._prepared: PreparedBoard | None = None
        self._prepared_for: tuple[str, str, str | None, str] | None = None
        self._wheres: dict[tuple[str, str], Where] = {}
        """Boards that were found, by device and kind."""
        self._opened: set[tuple[str, str]] = set()
        self._listener = SILENT
        self._partner = PartnerBoard(self._current_listener())

    def measure(self, planned: PlannedRow, doing: Callable[[str], None] = lambda what: None) -> Outcome:
        """Measures one row; a row that could not be measured says why. `doing` gets each stage as it begins.

        Raises StorageError where its log cannot be written.
        """
        where = self._where(planned)
        log = RowLog(self._logs, planned.id)

        def entered(stage: Stage) -> None:
            log.note(stage)
            doing(stage)

        def ask_bootsel(seconds: float) -> None:
            doing(f"hold BOOTSEL and plug the board in again, {seconds:.0f} s left")

        self._listener = Listener(log=log.note, ask_bootsel=ask_bootsel)
        results = self._output.results_dir
        named = log.path.relative_to(results).as_posix() if log.path.is_relative_to(results) else None
        draft = RowDraft(planned, where, log=named)
        clock = self._clock = StageClock(planned.label, planned.how.timeouts_s, entered)
        fault: Exception | None = None
        with log:
            try:
                row = self._measure(planned, draft, clock, log.line)
            except StorageError:
                self._drop_board()
                raise
            except Exception as error:
                tail = self._tail()
                self._drop_board()
                row, ends_run = self._ended(planned, draft, clock.current, error, tail)
                fault = error if ends_run else None
            log.note(f"{row.status}: {row.reason or row.value}")
        return Outcome(row, log.path, fault)

    def stop(self) -> None:
        """Ends the row that another thread measures, as if its time were up."""
        if self._clock is not None:
            self._clock.stop()

    def close(self) -> None:
        """Ends whatever still runs."""
        try:
            self._drop_board()
        finally:
            self._stack.close()

    def _measure(self, planned: PlannedRow, draft: RowDraft, clock: StageClock, printed: Progress) -> Row:
        clock.enter(Stage.IMAGE)
        draft.image = self._store.obtain(planned.entry)
        if draft.where is Where.EMULATED and planned.device == AUTO:
            self._provide_boot_rom(planned.board.mcu, draft)
        row = self._ready(planned, draft, clock, printed)
        measured = measurement_of(planned)(row)
        self._note_turnaround(draft, row.board, measured.sessions)
        if measured.report is not None:
            if planned.how.attribute and planned.number == 1:
                spans = planned.workload.timed(measured.report, measured.sessions)
                deadline = Deadline(planned.how.timeouts_s[Stage.RUN], f"{planned.label}: its attribution")
                attribution = row.board.attribution(spans, measured.report, deadline)
                elf = None if planned.entry.path is None else self._output.elfs.get(planned.entry.path)
                draft.attribution = with_names(attribution, draft.image.path, elf)
            self._look_closer(planned, draft)
        return draft.measured(measured.result, measured.output)

    def _provide_boot_rom(self, mcu: str, draft: RowDraft) -> None:
        try:
            self._store.provide_boot_rom(mcu)
        except ImageUnavailable as error:
            if not has_own_boot_rom(mcu):
                raise
            draft.remarks.append(f"portbench's own boot ROM; for the {mcu}'s: {error.command}")

    def _ready(self, planned: PlannedRow, draft: RowDraft, clock: StageClock, printed: Progress) -> ReadyRow:
        """The row with its board open, which stays from the row before where that needed the same one."""
        deadline = clock.stage(Stage.OPEN)
        hosted = planned.entry.package if planned.entry.family.traits.hosted else None
        key = (draft.where, planned.board.id, hosted, planned.device)
        if self._prepared is None or self._prepared_for != key:
            self._drop_board()
            self._prepared = PreparedBoard(self._open(planned, draft.where, deadline))
            self._prepared_for = key
        board = self._prepared.board
        if draft.where is not Where.HOSTED:
            self._wheres[planned.device, planned.board.id] = draft.where
            self._opened.add((planned.device, planned.board.id))
        draft.own_network = board.own_network
        if draft.where is Where.EMULATED and board.own_network is None and planned.is_networked:
            draft.where = Where.HOSTED  # it exchanges with a program of this PC, whose time its figures count
            draft.remarks.append("emulated board with a real PC")
        return ReadyRow(
            planned=planned,
            draft=draft,
            prepared=self._prepared,
            jitter=self._jitter(planned, board),
            image_of=lambda other: self._store.obtain(other.entry),
            servers=self.servers,
            partner_board=self._partner,
            clock=clock,
            printed=printed,
            scratch=self._scratch,
            only_reporter=lambda server: self._only_reporter(planned, server),
        )

    def _look_closer(self, planned: PlannedRow, draft: RowDraft) -> None:
        """Add waveform, changes' gains and figures of other layouts to the first run of an emulated row, by repeating
        it. The row stays measured if that fails, and says so."""
        if draft.where is not Where.EMULATED or planned.device != AUTO or planned.number != 1:
            return
        how = planned.how
        if not (how.attribute or how.what_if or how.layouts):
            return
        from portbench.runner.replayed import ReplayedRow  # imports the engine, which real boards do not need

        try:
            replayed = ReplayedRow.quick(planned, self._what)
            if how.attribute:
                draft.waveform = replayed.waveform()
            if how.what_if:
                draft.what_if = list(replayed.what_if(replayed.row()))
            if how.layouts:
                draft.layouts = ReplayedRow(planned).layouts(how.layouts)
        except PortbenchError as error:
            draft.remarks.append(f"not looked at closer: {one_line(str(error))}")

    @staticmethod
    def _note_turnaround(draft: RowDraft, board: Board, sessions: Sequence[Session]) -> None:
        if board.own_network is None:
            turnaround = Turnaround.of([value for session in sessions for value in session.turnaround_us])
            draft.turnaround_us = turnaround.median_us if turnaround else None

    def _jitter(self, planned: PlannedRow, board: Board) -> Jitter | None:
        """The run's surroundings; None without a network, and on others' boards."""
        emulated = board.where is Where.EMULATED and planned.device == AUTO
        return draw(planned.how.surroundings, planned.number) if emulated and planned.is_networked else None

    def _where(self, planned: PlannedRow) -> Where:
        """Decide `auto` once, so that a board that leaves the bus for a moment does not make the next row emulated.

        A board named by `--device` told its kind when it was open.
        """
        key = (planned.device, planned.board.id)
        if planned.entry.family.traits.hosted:
            return Where.HOSTED
        if key in self._wheres:
            return self._wheres[key]
        where = where_for(planned)
        if planned.device == AUTO:
            self._wheres[key] = where
        return where

    def _current_listener(self) -> Listener:
        """Boards are reused: forward log lines to the current row."""
        return Listener(
            log=lambda line: self._listener.log(line), ask_bootsel=lambda seconds: self._listener.ask_bootsel(seconds)
        )

    def _open(self, planned: PlannedRow, where: Where, deadline: Deadline) -> Board:
        comes_back = (planned.device, planned.board.id) in self._opened
        return open_board(planned, where, deadline, self._current_listener(), comes_back)

    @contextlib.contextmanager
    def _only_reporter(self, planned: PlannedRow, server: WorkloadServer | None) -> Iterator[None]:
        """A native client's report does not say which board it is of: of several boards, one at a time sends one."""
        if self.servers.parallel == 1 or server is None or planned.entry.family.traits.has_console:
            yield
            return
        limit_s = planned.how.timeouts_s[Stage.RUN]
        if not self.servers.reporter.acquire(timeout=limit_s):
            raise PortbenchError(f"other boards' native clients did not end within {limit_s:g} s")
        try:
            yield
        finally:
            self.servers.reporter.release()

    def _ended(
        self, planned: PlannedRow, draft: RowDraft, stage: Stage, error: Exception, tail: list[str]
    ) -> tuple[Row, bool]:
        """The row that `error` ends, and whether no row can follow."""
        if not isinstance(error, PortbenchError):
            return draft.failed(f"{stage}: {error!r}", tail), True
        # A board that was there, and went away, is a failure at its stage.
        if isinstance(error, BoardUnavailable) and stage is Stage.OPEN:
            if draft.where is Where.HOSTED:  # a port that is not installed counts as a missing image
                return draft.ended(Status.SKIPPED, str(error)), False
            return draft.failed(str(error), []), self._is_nowhere(planned)
        if (status := Status(error.row_status)) is not Status.FAILED:
            return draft.ended(status, str(error)), False
        return draft.failed(f"{stage}: {error}", tail), isinstance(error, BrokenSetup)

    def _tail(self) -> list[str]:
        return self._prepared.board.console_tail(_TAIL_LINES) if self._prepared else []

    def _is_nowhere(self, planned: PlannedRow) -> bool:
        """True if the only board that the user asks for was never there: all rows of it would fail alike."""
        place = planned.place
        asked = planned.device != AUTO or (place.where == "silicon" and place.parallel == 1)
        only = place.devices == (planned.device,)
        return asked and only and (planned.device, planned.board.id) not in self._opened

    def _drop_board(self) -> None:
        """Open it anew next time."""
        self._partner.close()
        prepared, key, self._prepared, self._prepared_for = self._prepared, self._prepared_for, None, None
        if prepared is not None and key is not None:
            prepared.board.close()
