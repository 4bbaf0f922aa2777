"""`Controls`: buttons, voltages, jumper wires and serial adapters at an emulated board that runs in its own process."""

from __future__ import annotations

import base64
from typing import Any, Final, Protocol

from portbench.boards.pins import HIGH_V, pin_number
from portbench.boards.timing import Deadline

_ANSWER_S: Final = 30.0


class Ask(Protocol):
    """`EmulatedBoard.control`, or the `call` of a `ControlClient`."""

    def __call__(self, op: str, deadline: Deadline, **arguments: Any) -> dict[str, Any]: ...


class Controls:
    """Pins are numbers or names: 15, `GP15`.

    The methods raise BoardError, and ValueError for an unknown pin. Simulated time goes on while they are answered.
    """

    def __init__(self, ask: Ask, name: str) -> None:
        self._ask = ask
        self._name = name

    def set_pin(self, pin: int | str, high: bool | None) -> None:
        """Hold the pin high or low, as a button does, or let go of it (None)."""
        self.set_voltage(pin, None if high is None else HIGH_V if high else 0.0)

    def set_voltage(self, pin: int | str, volts: float | None) -> None:
        """Hold the pin at a voltage, which the ADC reads on GP26 to GP29; a program reads high from 1.65 V on."""
        self._pins(hold={pin_number(pin): volts})

    def voltage(self, pin: int | str) -> float | None:
        """Return the voltage at which the pin is held, None where it is not."""
        volts: float | None = self._pins()["held"].get(str(pin_number(pin)))
        return volts

    def pin(self, pin: int | str) -> bool:
        """Return the pin's level now."""
        return bool(self._pins()["levels"] >> pin_number(pin) & 1)

    def wire(self, a: int | str, b: int | str) -> None:
        self._pins(wire=[(pin_number(a), pin_number(b))])

    def unwire(self, a: int | str, b: int | str) -> None:
        self._pins(unwire=[(pin_number(a), pin_number(b))])

    def wires(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in self._pins()["wires"]]

    def uart_write(self, uart: int, data: bytes) -> int:
        """Send to UART 0 or 1 at its own speed; returns how many bytes were taken."""
        sent = base64.b64encode(data).decode("ascii")
        return int(self._call("uart_write", uart=uart, data=sent)["taken"])

    def uart_read(self, uart: int) -> bytes:
        """Return what UART 0 or 1 has sent since the last call."""
        return base64.b64decode(self._call("uart_read", uart=uart)["data"])

    def _pins(self, **changes: Any) -> dict[str, Any]:
        return self._call("pins", **changes)

    def _call(self, op: str, **arguments: Any) -> dict[str, Any]:
        return self._ask(op, Deadline(_ANSWER_S, self._name), **arguments)
