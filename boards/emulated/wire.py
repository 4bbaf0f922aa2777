"""The board's console in simulated time, for its Python prompt."""

from collections.abc import Callable
from typing import Final

from portbench.boards.emulated.simulation import PS_PER_S, Simulation
from portbench.boards.timing import Deadline
from portbench.boards.wire import Wire

_STEP_PS: Final = PS_PER_S // 1000
_TYPED_BYTES: Final = 256
_PROMPT: Final = b">>> "
_SILENT_S: Final = 0.5
_SHOWN_BYTES: Final = 60


class SimulatedWire(Wire):
    """Reading and writing run the board, for at most `step_ps` at once. `look`: raises an error for a board that
    hangs."""

    def __init__(
        self, simulation: Simulation, look: Callable[[], None] = lambda: None, *, step_ps: int = _STEP_PS
    ) -> None:
        super().__init__("the simulated console")
        self._simulation = simulation
        self._look = look
        self._step_ps = step_ps

    def wait_prompt(self, deadline: Deadline) -> None:
        """Run a board until its friendly prompt. Enter is pressed in silence, as CircuitPython asks for a key."""
        said = b""
        while _PROMPT not in said:
            self.until(deadline, f"the prompt; the board printed {said[-_SHOWN_BYTES:]!r}")
            more = self.read_some(_SILENT_S)
            if not more and self._simulation.machine.usb()["console"]:
                self.write(b"\r\n")
            said += more

    def read_some(self, wait_s: float) -> bytes:
        goes_on = self._timer(wait_s)
        while not self._buffer and goes_on():
            self._wait()
        return self._taken()

    def inWaiting(self) -> int:
        self._wait()
        return len(self._buffer)

    def write(self, data: bytes) -> int:
        machine, rest = self._simulation.machine, data
        while rest:
            taken = machine.console_write(rest[:_TYPED_BYTES])
            rest = rest[taken:]
            if not taken:  # there is no console yet
                self._wait()
            while machine.console_unsent:
                self._wait()
        return len(data)

    def _wait(self) -> None:
        if self._deadline is not None:
            self._deadline.check(self._waiting_for)
        self._look()
        simulation = self._simulation
        self._buffer += simulation.advance(simulation.time_ps + self._step_ps).printed

    def _timer(self, seconds: float) -> Callable[[], bool]:
        end_ps = self._simulation.time_ps + round(seconds * PS_PER_S)
        return lambda: self._simulation.time_ps < end_ps
