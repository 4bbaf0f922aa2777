"""The stages of a measured run with their deadlines, and a board that does not repeat finished stages."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from portbench.boards import Board, Deadline, Deployment, RuntimeIdentity
from portbench.errors import BoardError
from portbench.firmware.identify import Identity, Uf2File, release


class Stage(StrEnum):
    """The stages of a measured run, in this order."""

    IMAGE = "image"
    OPEN = "open"
    FLASH = "flash"
    CONSOLE = "console"
    IDENTIFY = "identify"
    DEPLOY = "deploy"
    READY = "ready"
    RUN = "run"


DEFAULT_S: dict[Stage, float] = {
    Stage.OPEN: 30,
    Stage.FLASH: 120,
    Stage.CONSOLE: 60,
    Stage.IDENTIFY: 30,
    Stage.DEPLOY: 120,
    Stage.READY: 30,
    Stage.RUN: 600,
}
"""Seconds of host time. IMAGE has none: `firmware.download` limits a download.

READY is the client's own limit, in its board's time, and RUN includes it. The slowest published row, official
MicroPython 1.20.0, takes 259 s.
"""


class StageClock:
    """Deadlines of stages, and the current stage for error messages."""

    def __init__(self, label: str, timeouts_s: dict[Stage, float], on_stage: Callable[[Stage], None]) -> None:
        self.current = Stage.IMAGE
        self._label = label
        self._timeouts_s = timeouts_s
        self._on_stage = on_stage
        self._deadline: Deadline | None = None
        self._stopped = False

    def enter(self, stage: Stage) -> None:
        """Enter a stage that the caller times."""
        self.current = stage
        self._on_stage(stage)

    def stage(self, stage: Stage) -> Deadline:
        """Enter a stage; its deadline."""
        self.enter(stage)
        self._deadline = Deadline(self._timeouts_s[stage], f"{self._label}: {stage}")
        if self._stopped:
            self.stop()
        return self._deadline

    def stop(self) -> None:
        """End the current stage and all later ones at once. Any thread may call it."""
        self._stopped = True
        if self._deadline is not None:
            self._deadline.cut(0, "stopped")


@dataclass(frozen=True)
class Program:
    """The contents of a board: the UF2 (None: nothing to flash), its identity, and the client."""

    uf2: Uf2File | None
    deployment: Deployment
    has_console: bool


class PreparedBoard:
    """A board and its program, so that a second run of the same program only restarts it."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.runtime: RuntimeIdentity | None = None
        self._flashed: str | None = None
        self._deployed: Deployment | None = None

    def prepare(self, program: Program, clock: StageClock) -> None:
        """Flash and deploy unless already done, and check the runtime that answers. Raises BoardError."""
        board = self.board
        content = program.uf2.sha256 if program.uf2 else "nothing to flash"
        if content != self._flashed:
            self.runtime = self._flashed = self._deployed = None
            if program.uf2 is not None:
                board.flash(program.uf2, clock.stage(Stage.FLASH))
            if program.has_console:
                board.wait_console(clock.stage(Stage.CONSOLE))
                self.runtime = board.identify(clock.stage(Stage.IDENTIFY))
                if program.uf2 is not None:
                    check_runtime(program.uf2.identity, self.runtime, board)
            self._flashed = content
        if program.deployment != self._deployed:
            self._deployed = None
            board.deploy(program.deployment, clock.stage(Stage.DEPLOY))
            self._deployed = program.deployment


def check_runtime(flashed: Identity, answered: RuntimeIdentity, board: Board) -> None:
    """Raise BoardError unless the runtime that answers is the one in the image.

    The image's banner holds the version, sometimes with a suffix of `git describe` (`1.20.0-370-g7bfc22571`); the
    runtime answers with three numbers. WIZnet's builds call themselves MicroPython.
    """
    family = "circuitpython" if flashed.family == "circuitpython" else "micropython"
    said = f"{answered.family} {answered.version} on {answered.machine or 'a board it does not name'}"
    if flashed.family is not None and answered.family != family:
        raise BoardError(f"{board.name}: flashed {family} {flashed.version}, but {said} answers")
    if flashed.version is not None and release(flashed.version) != release(answered.version):
        raise BoardError(f"{board.name}: flashed {family} {flashed.version}, but {said} answers")
    if flashed.machine is not None and answered.machine and flashed.machine != answered.machine:
        raise BoardError(f"{board.name}: flashed an image for {flashed.machine}, but {said} answers")
