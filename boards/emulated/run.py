"""A measured run: an emulated board from its power-up until the result has come."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import portbench_engine

from portbench.boards.board import Unattended
from portbench.boards.definition import BoardDefinition, board_address
from portbench.boards.emulated.client_watch import ClientWatch
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.partner import LAST_WORDS_US, Partner
from portbench.boards.emulated.simulation import NAME, PS_PER_S, Simulation, Step, ps
from portbench.boards.timing import Deadline
from portbench.errors import BoardError
from portbench.server.simulated_pc import Part
from portbench.workloads import Session

_LOOK_PS: Final = PS_PER_S // 50
"""From one look at the client's way to the next. Its reasons count in seconds."""


@dataclass(frozen=True)
class Figures:
    """The result of a run. Two runs of the same flash are equal, traced or not."""

    result: dict[str, Any] | None
    """The client's result line, or the report of a client without a console."""
    sessions: list[Session]
    end_us: float
    stats: dict[str, Any]
    """The engine's counters at `end_us`."""


class Run(Simulation):
    """A board with `flash` at its power-up, and the simulated PC with its `part`.

    `networked`: the client has to speak to its network chip before it can do anything else. `alone`: the facts of an
    image that does not report the end of its run. `partner`: a board that listens already; this one joins its switch.
    `heard` gets each line of the console, `log` each reset and each fault of the cores.
    """

    def __init__(
        self,
        definition: BoardDefinition,
        config: EmulatedConfig,
        flash: bytes,
        part: Part,
        *,
        networked: bool = False,
        alone: Unattended | None = None,
        partner: Partner | None = None,
        name: str = NAME,
        heard: Callable[[str], None] = lambda line: None,
        log: Callable[[str], None] = lambda line: None,
        engine: Any = portbench_engine,
    ) -> None:
        super().__init__(flash, config.settings(definition), name=name, log=log, stand_in=True, engine=engine)
        self._partner = partner
        if partner is not None:
            partner.join(self)
        port = None if definition.network is None else config.server_port
        self._pc = self.serve(port, config.turnaround_us, part, heard=heard)
        # Not `self`: the machine and its capture are to end as soon as the last reference to this run does.
        self._watch = ClientWatch(weakref.proxy(self), definition, config, alone)
        self._watch.expect(networked or alone is not None or partner is not None, started=True)
        self._pc.poll(self.machine, board_address(config.pc_ip), self.time_us)
        self._next_look_ps = 0
        self._partners_end: tuple[float, dict[str, Any]] | None = None
        """The time and the counters at the partner's end, which are those of the run of two."""

    def to_end(self, deadline: Deadline, *, may_give_up: bool = False) -> Figures:
        """Run until the result has come; `may_give_up`: or until the client has gone to the boot loader without one.

        Raises DeadlineExceeded, and BoardError with the reason where no result will come.
        """
        while not self.over and not self.in_boot_loader:
            deadline.check(f"the result; the board printed {self.console.tail(3)}")
            self.advance(self.time_ps + self.slice_ps)
            if self.time_ps >= self._next_look_ps and not self.over:
                self._look()
        if not self.over and not may_give_up:
            raise BoardError(f"{self.name}: the image went to the boot loader before its run was over")
        # A report can come before the end of the last connection, which is still in the air.
        until_ps = self.time_ps + ps(LAST_WORDS_US)
        while self.over and self._pc.open_calls and self.time_ps < until_ps:
            self.advance(self.time_ps + self.slice_ps)
        return self.figures()

    @property
    def over(self) -> bool:
        """True once the result has come; of a pair, those of both boards."""
        return self.result_came() and (self._partner is None or self._partner.is_over)

    def figures(self) -> Figures:
        sessions = self.sessions()
        reports = (session.report for session in sessions)
        result = self.console.result or next((report for report in reports if report is not None), None)
        calls = [each for each in sessions if each.listening is None]
        return Figures(result, calls, *(self._partners_end or (self.time_us, self.machine.stats())))

    def sessions(self) -> list[Session]:
        """The PC's connections with the board."""
        return self._pc.sessions()

    def ran(self, stop: str) -> Step:
        step = super().ran(stop)
        if step.reset:
            self._watch.was_reset()
        if self._partner is not None:
            if self.result_came():
                self._partner.client_is_over()
            if self._partner.is_over and self._partners_end is None:
                self._partners_end = self.time_us, self.machine.stats()
        return step

    def _look(self) -> None:
        """Raise BoardError with the reason where the run will never end."""
        self._next_look_ps = self.time_ps + _LOOK_PS
        if self._watch.in_bootloader:
            self.in_boot_loader = True
            return
        self._watch.look()
        why = self._pc.given_up(self.time_us) or self._watch.stuck(finished=False)
        if why is None and self._partner is not None:
            self._partner.look()
            why = self._partner.lost(self.machine.stats()["frames_to_board"])
        if why is not None:
            raise BoardError(f"{self.name}: stopped: {why}")
