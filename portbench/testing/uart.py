"""A UART of the board in a test: the other end of its TX and RX."""

from __future__ import annotations

import re

from portbench.testing.simulation import DEFAULT_S, RecordedSimulation
from portbench.testing.transcript import Transcript

__tracebackhide__ = True


class Uart:
    """UART 0 or 1, on the pins and with the speed that the board's program gives it. Received from the first
    `Board.uart` of it on."""

    def __init__(self, simulation: RecordedSimulation, number: int) -> None:
        if number not in (0, 1):
            raise ValueError(f"{number} is no UART of the board; use 0 or 1")
        self._simulation = simulation
        self._number = number
        self._transcript = Transcript()
        simulation.machine.uart_read(number)
        simulation.on_step.append(self._look)

    @property
    def received(self) -> bytes:
        """Everything that the board has sent."""
        return self._transcript.data

    def send(self, data: bytes, within_s: float = DEFAULT_S) -> None:
        """Send to the board at its own speed. Bytes that no program receives are lost. Raises NothingCame."""
        machine, left = self._simulation.machine, memoryview(data)

        def taken() -> bool:
            nonlocal left
            left = left[machine.uart_write(self._number, bytes(left)) :]
            return not left and not machine.uart_unsent(self._number)

        self._simulation.wait(taken, within_s, f"the last byte to be sent to UART {self._number}", self._came)

    def expect(self, pattern: str | bytes, within_s: float = DEFAULT_S) -> re.Match[bytes]:
        """Wait for `pattern`, a regular expression, after the last match, and return the match. Raises NothingCame."""
        compiled = re.compile(pattern.encode() if isinstance(pattern, str) else pattern)
        what = f"{compiled.pattern.decode(errors='replace')!r} on UART {self._number}"
        return self._simulation.wait(lambda: self._transcript.find(compiled), within_s, what, self._came)

    def _look(self) -> None:
        self._transcript.feed(self._simulation.machine.uart_read(self._number))

    def _came(self) -> str:
        return f"the last lines of UART {self._number}:\n{self._transcript.tail()}"
