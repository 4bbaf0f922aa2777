"""The board's Python prompt at the simulated console, in simulated time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from portbench.boards.deploy import make_folders
from portbench.boards.emulated.simulation import NAME
from portbench.boards.emulated.wire import SimulatedWire
from portbench.boards.prompt import LEAVE_RAW, ReplError
from portbench.boards.repl import Repl
from portbench.boards.timing import Deadline
from portbench.errors import DeadlineExceeded, PortbenchError
from portbench.testing.errors import NothingCame
from portbench.testing.simulation import RecordedSimulation

__tracebackhide__ = True
_PROMPT_S: Final = 10.0
_FILE_S: Final = 60.0


class PythonPrompt:
    """The interpreter that runs on the board, interrupted if it runs a program."""

    def __init__(self, simulation: RecordedSimulation) -> None:
        self._simulation = simulation
        self._wire = SimulatedWire(simulation)
        self._repl = Repl(self._wire, NAME)

    def type(self, data: bytes) -> None:
        """Type at the console as soon as it is open."""
        self._simulation.wait_for_console()
        self._wire.until(self._deadline(_PROMPT_S), "the console to take the typed text")
        self._wire.type(data)

    def execute(self, code: str, within_s: float) -> str:
        """Run `code` and return what it printed."""
        what = f"the end of {code[:40]!r}"
        with self._raw(within_s, what) as deadline:
            return self._repl.execute(code, deadline, what)

    def write_files(self, files: dict[str, bytes]) -> None:
        for path, content in files.items():
            with self._raw(_FILE_S, f"{path} to be written") as deadline:
                make_folders(self._repl, path, deadline)
                self._repl.write_file(path, content, deadline)

    @contextmanager
    def _raw(self, within_s: float, what: str) -> Iterator[Deadline]:
        """Use the raw REPL for the time of the block. Raises NothingCame."""
        simulation, repl = self._simulation, self._repl
        simulation.wait_for_console()
        late = f"the Python prompt did not come within {_PROMPT_S:g} s of simulated time"
        try:
            entering = self._deadline(_PROMPT_S)
            repl.interrupt(entering)
            simulation.transcript.take()
            before = simulation.transcript.mark()
            repl.enter(entering)
            late = f"{what} did not come within {within_s:g} s of simulated time"
            try:
                yield self._deadline(within_s)
            finally:
                repl.leave(self._deadline(_PROMPT_S))
                simulation.transcript.take()
        except ReplError as error:
            raise NothingCame(f"the board's Python raised:\n{error.traceback}") from None
        except DeadlineExceeded:
            self._wire.type(LEAVE_RAW)
            raise NothingCame(f"{late}\n{simulation.came_on_console()}") from None
        except NothingCame:
            raise
        except (PortbenchError, OSError) as error:
            raise NothingCame(f"{what}: {error}\n{simulation.came_on_console()}") from None
        simulation.transcript.cut(before)

    def _deadline(self, seconds: float) -> Deadline:
        simulation = self._simulation
        return Deadline(seconds, NAME, clock=lambda: simulation.now_us / 1e6)
