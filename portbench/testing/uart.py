"""Serial lines of the board in a test: the other end of a UART, and further serial ports on USB."""

import re
from typing import ClassVar

from portbench_engine import board as engine

from portbench.testing.simulation import DEFAULT_S, RecordedSimulation
from portbench.testing.transcript import Transcript

__tracebackhide__ = True


class Uart:
    """UART 0 or 1, on the pins and with the speed that the board's program gives it. Received from the first
    `Board.uart` of it on."""

    _kind = "UART"
    _numbers = range(2)
    _part: ClassVar[type[engine.Uart | engine.SerialPort]] = engine.Uart

    def __init__(self, simulation: RecordedSimulation, number: int) -> None:
        if number not in self._numbers:
            usable = " or ".join(map(str, self._numbers))
            raise ValueError(f"{number} is not a {self._kind} of the board; use {usable}")
        self._simulation = simulation
        self._number = number
        self._transcript = Transcript()
        self._line.read()
        simulation.on_step.append(lambda: self._transcript.feed(self._line.read()))

    @property
    def _line(self) -> engine.Uart | engine.SerialPort:
        return self._part(self._simulation.machine, self._number)

    @property
    def received(self) -> bytes:
        """Everything that the board has sent."""
        return self._transcript.data

    def send(self, data: bytes, within_s: float = DEFAULT_S) -> None:
        """Send to the board at its own speed. Bytes that no program receives are lost. Raises NothingCame."""
        left = memoryview(data)

        def taken() -> bool:
            nonlocal left
            left = left[self._line.write(bytes(left)) :]
            return not left and not self._line.unsent

        self._simulation.wait(taken, within_s, f"the last byte to be sent to {self._kind} {self._number}", self._came)

    def expect(self, pattern: str | bytes, within_s: float = DEFAULT_S) -> re.Match[bytes]:
        """Wait for `pattern`, a regular expression, after the last match, and return the match. Raises NothingCame."""
        return self._simulation.expect(
            self._transcript, pattern, within_s, f"on {self._kind} {self._number}", self._came
        )

    def _came(self) -> str:
        return f"the last lines of {self._kind} {self._number}:\n{self._transcript.tail()}"


class SerialPort(Uart):
    """A serial port on USB beside the console: 1 is the first, such as CircuitPython's `usb_cdc.data`.

    Received from the first `Board.serial` of it on.
    """

    _kind = "USB serial port"
    _numbers = range(1, 4)
    _part = engine.SerialPort
