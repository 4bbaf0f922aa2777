"""Serial lines of the board in a test: the other end of a UART, and further serial ports on USB."""

from __future__ import annotations

import re

from portbench.testing.simulation import DEFAULT_S, RecordedSimulation
from portbench.testing.transcript import Transcript

__tracebackhide__ = True


class Uart:
    """UART 0 or 1, on the pins and with the speed that the board's program gives it. Received from the first
    `Board.uart` of it on."""

    _kind = "UART"
    _numbers = range(2)

    def __init__(self, simulation: RecordedSimulation, number: int) -> None:
        if number not in self._numbers:
            usable = " or ".join(map(str, self._numbers))
            raise ValueError(f"{number} is no {self._kind} of the board; use {usable}")
        self._simulation = simulation
        self._number = number
        self._transcript = Transcript()
        self._read()
        simulation.on_step.append(self._look)

    @property
    def received(self) -> bytes:
        """Everything that the board has sent."""
        return self._transcript.data

    def send(self, data: bytes, within_s: float = DEFAULT_S) -> None:
        """Send to the board at its own speed. Bytes that no program receives are lost. Raises NothingCame."""
        left = memoryview(data)

        def taken() -> bool:
            nonlocal left
            left = left[self._write(bytes(left)) :]
            return not left and not self._unsent()

        self._simulation.wait(taken, within_s, f"the last byte to be sent to {self._kind} {self._number}", self._came)

    def expect(self, pattern: str | bytes, within_s: float = DEFAULT_S) -> re.Match[bytes]:
        """Wait for `pattern`, a regular expression, after the last match, and return the match. Raises NothingCame."""
        compiled = re.compile(pattern.encode() if isinstance(pattern, str) else pattern)
        what = f"{compiled.pattern.decode(errors='replace')!r} on {self._kind} {self._number}"
        return self._simulation.wait(lambda: self._transcript.find(compiled), within_s, what, self._came)

    def _look(self) -> None:
        self._transcript.feed(self._read())

    def _read(self) -> bytes:
        return self._simulation.machine.uart_read(self._number)

    def _write(self, data: bytes) -> int:
        return self._simulation.machine.uart_write(self._number, data)

    def _unsent(self) -> int:
        return self._simulation.machine.uart_unsent(self._number)

    def _came(self) -> str:
        return f"the last lines of {self._kind} {self._number}:\n{self._transcript.tail()}"


class SerialPort(Uart):
    """A serial port on USB beside the console: 1 is the first, such as CircuitPython's `usb_cdc.data`.

    Received from the first `Board.serial` of it on.
    """

    _kind = "USB serial port"
    _numbers = range(1, 4)

    def _read(self) -> bytes:
        return self._simulation.machine.serial_read(self._number)

    def _write(self, data: bytes) -> int:
        return self._simulation.machine.serial_write(self._number, data)

    def _unsent(self) -> int:
        return self._simulation.machine.serial_unsent(self._number)
