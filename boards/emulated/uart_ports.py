"""UART0 and UART1 of an emulated board as pseudo-terminals: what two serial adapters on its pins are to a PC."""

from __future__ import annotations

from typing import Final, Protocol

from portbench.boards.emulated.serial_port import SerialPort

UARTS: Final = 2
_UNSENT_BYTES: Final = 256
"""That may wait for the line; more waits in the terminal, as in an adapter's."""


class Leads(Protocol):
    """What the ports need of `portbench._engine.Machine`."""

    def uart_read(self, uart: int) -> bytes: ...
    def uart_write(self, uart: int, data: bytes) -> int: ...
    def uart_unsent(self, uart: int) -> int: ...


class UartPorts:
    """They stay as long as the board's process: adapters do not go away with the board's power."""

    def __init__(self) -> None:
        self.ports: Final = tuple(SerialPort() for _ in range(UARTS))

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(port.path for port in self.ports)

    def exchange(self, machine: Leads) -> None:
        """Bring what clients wrote to the lines, and what came from them to the clients."""
        for uart, port in enumerate(self.ports):
            if machine.uart_unsent(uart) < _UNSENT_BYTES and (typed := port.read(_UNSENT_BYTES)):
                machine.uart_write(uart, typed)
            if came := machine.uart_read(uart):
                port.write(came)
            port.flush()

    def close(self) -> None:
        for port in self.ports:
            port.close()
