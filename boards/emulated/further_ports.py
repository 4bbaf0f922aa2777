"""The serial ports that a board has beside its console, as CircuitPython's `usb_cdc.data`: pseudo-terminals."""

from __future__ import annotations

from typing import Final, Protocol

from portbench.boards.emulated.serial_port import BOOTLOADER_BAUD, SerialPort

_UNSENT_BYTES: Final = 2048
"""That may wait in the board's USB pipe; more waits in the terminal."""


class SerialFunctions(Protocol):
    """What the ports need of `portbench._engine.Machine`. Place 0 is the console's."""

    def serial_read(self, place: int) -> bytes: ...
    def serial_write(self, place: int, data: bytes) -> int: ...
    def serial_unsent(self, place: int) -> int: ...
    def serial_set_baud(self, place: int, baud: int) -> bool: ...
    def serial_close(self, place: int) -> bool: ...


class FurtherPorts:
    """They come and go with the console's port."""

    def __init__(self) -> None:
        self.ports: tuple[SerialPort, ...] = ()
        self._bauds: list[int | None] = []

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(port.path for port in self.ports)

    def appear(self, machine: SerialFunctions, count: int) -> None:
        """So many, unless they are there already."""
        if len(self.ports) == count:
            return
        self.close()
        self.ports = tuple(SerialPort() for _ in range(count))
        self._bauds = [port.take_baud() for port in self.ports]
        for place in range(1, count + 1):
            machine.serial_read(place)  # what came while nobody saw the port is lost, as the console's is

    def type(self, machine: SerialFunctions) -> bool:
        """Bring the board what clients of the ports wrote, and the speed that they set; true if there was anything."""
        any_came = False
        for place, port in enumerate(self.ports, 1):
            if machine.serial_unsent(place) < _UNSENT_BYTES and (typed := port.read(_UNSENT_BYTES)):
                machine.serial_write(place, typed)
                any_came = True
            baud = port.take_baud()
            if baud is not None and baud != self._bauds[place - 1]:
                self._bauds[place - 1] = baud
                if baud == BOOTLOADER_BAUD:
                    # What opening the port at this speed and closing it again does on a PC.
                    machine.serial_set_baud(place, baud)
                    machine.serial_close(place)
                    any_came = True
        return any_came

    def show(self, machine: SerialFunctions) -> None:
        """Bring the clients what the board sent."""
        for place, port in enumerate(self.ports, 1):
            if came := machine.serial_read(place):
                port.write(came)
            port.flush()

    def close(self) -> None:
        for port in self.ports:
            port.flush()
            port.close()
        self.ports = ()
