"""The board's Python prompt at the simulated console, in simulated time."""

from collections.abc import Iterator
from contextlib import contextmanager

from mpremote.transport import TransportError  # type: ignore[import-untyped]

from portbench.boards.prompt import INTERRUPT, LEAVE_RAW, Prompt, ReplError
from portbench.errors import PortbenchError
from portbench.testing.errors import NothingCame
from portbench.testing.simulation import RecordedSimulation

__tracebackhide__ = True
_PROMPT_S = 10.0
_FILE_S = 60.0
_MAKE_FOLDER = "import os\ntry:\n os.mkdir({0!r})\nexcept OSError:\n os.listdir({0!r})\n"


class _Wire:
    """The console, as mpremote's transport needs one. Reading runs the board.

    Unlike a row's `SimulatedWire`, it stops at the same moments as the test's other waits, and records what passes.
    """

    def __init__(self, simulation: RecordedSimulation) -> None:
        self._simulation = simulation
        self._buffer = bytearray()
        self._until_us = 0.0
        self._what = ""

    def wait_for(self, what: str, within_s: float) -> None:
        """Read for `what` from now on, for at most `within_s` of simulated time."""
        self._what, self._until_us = what, self._simulation.now_us + within_s * 1e6

    def write(self, data: bytes) -> int:
        type_in(self._simulation, data)
        return len(data)

    def read(self, n: int = 1) -> bytes:
        left_s = max(0.0, self._until_us - self._simulation.now_us) / 1e6
        self._simulation.wait(lambda: self._filled(n), left_s, self._what, self._simulation.came_on_console)
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data

    def inWaiting(self) -> int:
        self._fill()
        return len(self._buffer)

    def _filled(self, size: int) -> bool:
        self._fill()
        return len(self._buffer) >= size

    def _fill(self) -> None:
        self._buffer += self._simulation.transcript.take()


def type_in(simulation: RecordedSimulation, data: bytes) -> None:
    """Type at the console as soon as it is open."""
    simulation.wait_for_console()
    rest = data
    while rest:
        rest = rest[simulation.machine.console_write(rest) :]
        if rest:
            simulation.run(0.001)


class PythonPrompt:
    """The interpreter that runs on the board, interrupted if it runs a program."""

    def __init__(self, simulation: RecordedSimulation) -> None:
        self._simulation = simulation
        self._wire = _Wire(simulation)
        self._prompt = Prompt(self._wire, "emulated board")

    def type(self, data: bytes) -> None:
        """Type at the console as soon as it is open."""
        type_in(self._simulation, data)

    def execute(self, code: str, within_s: float) -> str:
        """Run `code` and return what it printed."""
        with self._raw(within_s, f"the end of {code[:40]!r}"):
            return self._prompt.execute(code)

    def write_files(self, files: dict[str, bytes]) -> None:
        for path, content in files.items():
            with self._raw(_FILE_S, f"{path} to be written"):
                for parent in _parents(path):
                    self._prompt.execute(_MAKE_FOLDER.format(parent))
                self._prompt.write_file(path, content)

    @contextmanager
    def _raw(self, within_s: float, what: str) -> Iterator[None]:
        """Use the raw REPL for the time of the block. Raises NothingCame."""
        simulation, wire = self._simulation, self._wire
        wire.wait_for("the Python prompt", _PROMPT_S)
        type_in(simulation, INTERRUPT + LEAVE_RAW)
        simulation.run(0.1)
        simulation.transcript.take()
        before = simulation.transcript.mark()
        try:
            self._prompt.enter_raw()
        except TransportError as error:
            raise NothingCame(f"the Python prompt: {error}\n{simulation.came_on_console()}") from None
        wire.wait_for(what, within_s)
        try:
            yield
        except ReplError as error:
            raise NothingCame(f"the board's Python raised:\n{error.traceback}") from None
        except (PortbenchError, OSError) as error:
            raise NothingCame(f"{what}: {error}\n{simulation.came_on_console()}") from None
        finally:
            self._prompt.leave_raw()
            simulation.run(0.05)
            simulation.transcript.take()
        simulation.transcript.cut(before)


def _parents(path: str) -> list[str]:
    parts = path.strip("/").split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
