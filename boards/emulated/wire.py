"""The board's console in simulated time, for its Python prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from portbench.boards.emulated.simulation import PS_PER_S, Simulation
from portbench.boards.timing import Deadline

_STEP_PS: Final = PS_PER_S // 1000
_TYPED_BYTES: Final = 256
_PROMPT: Final = b">>> "
_SILENT_S: Final = 0.5
_SHOWN_BYTES: Final = 60


class SimulatedWire:
    """A `boards.repl.Wire`; reading and writing run the board, for at most `step_ps` at once. `look`: raises BoardError
    for a board that hangs."""

    port = "the simulated console"

    def __init__(
        self, simulation: Simulation, look: Callable[[], None] = lambda: None, *, step_ps: int = _STEP_PS
    ) -> None:
        self._simulation = simulation
        self._look = look
        self._step_ps = step_ps
        self._buffer = bytearray()
        self._deadline: Deadline | None = None
        self._waiting_for = ""
        self.is_open = True

    def until(self, deadline: Deadline, waiting_for: str) -> None:
        self._deadline, self._waiting_for = deadline, waiting_for

    def wait_prompt(self, deadline: Deadline) -> None:
        """Run a board until its friendly prompt. Enter is pressed in silence, as CircuitPython asks for a key."""
        said = b""
        while _PROMPT not in said:
            self.until(deadline, f"the prompt; the board printed {said[-_SHOWN_BYTES:]!r}")
            if not (more := self.read_some(_SILENT_S)):
                self.write(b"\r\n")
            said += more

    def read(self, n: int = 1) -> bytes:
        while len(self._buffer) < n:
            self._advance()
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data

    def read_some(self, wait_s: float) -> bytes:
        end_ps = self._simulation.time_ps + round(wait_s * PS_PER_S)
        while not self._buffer and self._simulation.time_ps < end_ps:
            self._advance()
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def read_until_quiet(self, quiet_s: float, most_s: float) -> bytes:
        end_ps = self._simulation.time_ps + round(most_s * PS_PER_S)
        data = b""
        while self._simulation.time_ps < end_ps and (more := self.read_some(quiet_s)):
            data += more
        return data

    def inWaiting(self) -> int:
        self._advance()
        return len(self._buffer)

    def write(self, data: bytes) -> int:
        machine, at = self._simulation.machine, 0
        while at < len(data):
            if not (taken := machine.console_write(data[at : at + _TYPED_BYTES])):
                break  # the PC has found no console
            at += taken
            while machine.console_unsent:
                self._advance()
        return at

    def close(self) -> None:
        self.is_open = False

    def _advance(self) -> None:
        if self._deadline is not None:
            self._deadline.check(self._waiting_for)
        self._look()
        simulation = self._simulation
        self._buffer += simulation.advance(simulation.time_ps + self._step_ps).printed
