"""A row with its image and an open board: what each kind of measurement starts from, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portbench.boards import Board, Deadline, Progress, RunOutput
from portbench.boards.jitter import Jitter
from portbench.errors import BoardError, BoardUnavailable, BrokenSetup, PortbenchError
from portbench.firmware.images import Image
from portbench.runner.collect import ClientResult, RowDraft, check_result, exception_in
from portbench.runner.plan import PlannedRow
from portbench.runner.program import Peer, build_program
from portbench.runner.servers import Servers
from portbench.runner.stages import PreparedBoard, Program, Stage, StageClock
from portbench.workloads import Session

if TYPE_CHECKING:
    from portbench.runner.kinds.paired import PartnerBoard
    from portbench.server.tcp import WorkloadServer

_TAIL_LINES: Final = 20


@dataclass(frozen=True)
class MeasuredRow:
    """The figures of a run. `report`: the client's result line, where the client timed the run itself."""

    result: ClientResult
    output: RunOutput
    sessions: Sequence[Session] = ()
    report: Mapping[str, Any] | None = None


@dataclass
class ReadyRow:
    """`only_reporter` keeps other boards' clients from reporting to the same server at the same time."""

    planned: PlannedRow
    draft: RowDraft
    prepared: PreparedBoard
    jitter: Jitter | None
    image_of: Callable[[PlannedRow], Image]
    servers: Servers
    partner_board: PartnerBoard
    clock: StageClock
    printed: Progress
    scratch: Path
    only_reporter: Callable[[WorkloadServer | None], AbstractContextManager[None]]

    @property
    def board(self) -> Board:
        return self.prepared.board

    def peer(self) -> tuple[Peer | None, WorkloadServer | None]:
        """Return the PC's address for the board, and the server there if it is a real one. Raises PortbenchError."""
        has_console = self.planned.entry.family.traits.has_console
        return self.servers.peer_for(self.board, self.planned.workload, has_console=has_console)

    def program(self, peer: Peer | None) -> Program:
        """The image, the client and its parameters. Raises what `build_program` does."""
        assert self.draft.image is not None
        return build_program(self.planned, self.draft.image, self.board, peer, self.scratch)

    def prepare(self, peer: Peer | None) -> None:
        """Flash and deploy; the board then awaits its start. Raises BoardError."""
        self.prepared.prepare(self.program(peer), self.clock)
        if self.prepared.runtime is not None:
            self.draft.version = self.prepared.runtime.version
        self.board.jitter = self.draft.jitter = self.jitter
        self.board.equipment = self.planned.workload.equipment(self.planned.settings)

    def run(
        self, progress: Progress | None = None, *, serve: bool = True, deadline: Deadline | None = None
    ) -> RunOutput:
        """Start the client and wait for its end; `serve`: a simulated PC takes part. `deadline`: of a run that has been
        started. Raises BoardError, for a client without a result with the exception that it printed."""
        traits = self.planned.entry.family.traits
        tells = traits.has_console and not traits.timed_by_pc
        try:
            output = self.board.run(deadline or self.start(serve=serve), progress or self.printed)
            if tells and not output.result:  # an empty one: it ended before it began
                raise BoardError("no result line came")
        except (BoardUnavailable, BrokenSetup):
            raise
        except BoardError as error:
            raised = exception_in(self.board.console_tail(_TAIL_LINES)) if tells else None
            if raised is None:
                raise
            raise BoardError(f"the client ended with {raised}") from error
        return output

    def start(self, *, serve: bool = True) -> Deadline:
        """Enter the stage RUN, and have the simulated PC take its part if the board brings one along."""
        deadline = self.clock.stage(Stage.RUN)
        if serve:
            self.board.serve(self.planned.workload.name, self.planned.settings.model_dump(mode="json"), deadline)
        return deadline

    def report(self, output: RunOutput, server: WorkloadServer | None, first: int) -> Mapping[str, Any] | None:
        """The client's report: its line on the console, or its message to it on a connection numbered `first` or
        above where it has no console."""
        if self.planned.entry.family.traits.has_console:
            return output.result and self.planned.workload.expected(output.result, self.planned.settings)
        if server is not None:
            return server.wait_report(self.planned.how.timeouts_s[Stage.RUN], after=first - 1).report
        reports: list[dict[str, Any]] = [each.report for each in output.sessions if each.report is not None]
        if not reports:
            raise PortbenchError(
                "the native client came back as boot loader without a report:"
                " the image did not arrive whole, or the server did not answer"
            )
        return reports[-1]

    def measured(self, report: Mapping[str, Any], output: RunOutput, sessions: Sequence[Session]) -> MeasuredRow:
        """The figures in the client's `report`, checked. Raises PortbenchError."""
        result = check_result(report, self.planned.workload, self.planned.settings, sessions)
        return MeasuredRow(result, output, sessions, report)
