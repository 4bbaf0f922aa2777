"""The serial ports of an emulated board as pseudo-terminals: its console, its further CDC functions, its UARTs."""

import contextlib
import errno
import os
import termios
import tty
from typing import Final

from portbench_engine import Machine

from portbench.boards.desk import UARTS

BOOTLOADER_BAUD: Final = 1200
"""A program that sets this speed and closes the port asks for the boot loader."""
_READ_BYTES = 4096
_KEEP_BYTES = 1 << 20
"""Limit of unread output. Older bytes are dropped, so that the board is not held up."""
_USB_BYTES: Final = 2048
"""The most that waits in the board's USB pipe; more waits in the terminal."""
_UART_BYTES: Final = 256
"""The most that waits for the UART's line; more waits in the terminal, as in that of an adapter."""
_BAUDS = {getattr(termios, f"B{baud}"): baud for baud in (1200, 2400, 9600, 19200, 38400, 57600, 115200, 230400)}


class SerialPort:
    """One pseudo-terminal. A new one is made for each USB enumeration, as a real port gets a new node.

    Systems give the lowest free number, so it mostly has the name of the one before; `not_named`: any name but this.
    """

    def __init__(self, not_named: str | None = None) -> None:
        self._master, slave = os.openpty()
        if os.ttyname(slave) == not_named:
            held = (self._master, slave)
            self._master, slave = os.openpty()
            for fd in held:
                os.close(fd)
        # Open as long as the port exists: without it, the first client that closes would hang the terminal up.
        self._slave = slave
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        # Two programs on one serial port only spoil each other's session. Real ports allow it too, unless the first
        # asks for exclusive access, as pyserial's `exclusive` does; that also works here.
        self.path = os.ttyname(slave)
        self._baud = 0
        self._unsent = bytearray()
        self._baud = self._set_baud()

    def fileno(self) -> int:
        return self._master

    def read(self, most: int = _READ_BYTES) -> bytes:
        """Return what clients wrote, without waiting."""
        try:
            return os.read(self._master, most)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno == errno.EIO:
                return b""
            raise

    def write(self, data: bytes) -> None:
        """Queue what the board printed, and give the terminal as much as it takes."""
        self._unsent += data
        del self._unsent[: max(0, len(self._unsent) - _KEEP_BYTES)]
        self.flush()

    def flush(self) -> None:
        while self._unsent:
            try:
                done = os.write(self._master, self._unsent)
            except BlockingIOError:
                return
            del self._unsent[:done]

    @property
    def waiting(self) -> bool:
        """True if the terminal still has to take output."""
        return bool(self._unsent)

    def wants_boot_loader(self) -> bool:
        """True once a client has set the boot loader's speed."""
        before, self._baud = self._baud, self._set_baud()
        return self._baud != before and self._baud == BOOTLOADER_BAUD

    def _set_baud(self) -> int:
        """Return the speed that a client has set, 0 where the terminal's code for it is unknown."""
        try:
            return _BAUDS.get(termios.tcgetattr(self._slave)[5], 0)
        except termios.error:
            return self._baud

    def close(self) -> None:
        for fd in (self._master, self._slave):
            with contextlib.suppress(OSError):
                os.close(fd)


class FurtherPorts:
    """The ports beside the console, as CircuitPython's `usb_cdc.data`. They come and go with the console's port."""

    def __init__(self) -> None:
        self.ports: tuple[SerialPort, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(port.path for port in self.ports)

    def appear(self, machine: Machine, count: int) -> None:
        """Open `count` ports, unless they are open already."""
        if len(self.ports) == count:
            return
        self.close()
        self.ports = tuple(SerialPort() for _ in range(count))
        for place in range(1, count + 1):
            machine.serial_read(place)  # output from before the port appeared is lost, as the console's is

    def type(self, machine: Machine) -> bool:
        """Bring the board what clients of the ports wrote, and the speed that they set; true if there was anything."""
        any_came = False
        for place, port in enumerate(self.ports, 1):
            if machine.serial_unsent(place) < _USB_BYTES and (typed := port.read(_USB_BYTES)):
                machine.serial_write(place, typed)
                any_came = True
            if port.wants_boot_loader():
                # What opening the port at this speed and closing it again does on a PC.
                machine.serial_set_baud(place, BOOTLOADER_BAUD)
                machine.serial_close(place)
                any_came = True
        return any_came

    def show(self, machine: Machine) -> None:
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


class UartPorts:
    """UART0 and UART1 as two serial adapters show them to a PC. Adapters stay when the board loses its power."""

    def __init__(self) -> None:
        self.ports: Final = tuple(SerialPort() for _ in range(UARTS))

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(port.path for port in self.ports)

    def exchange(self, machine: Machine) -> None:
        """Bring the lines what clients wrote, and the clients what the lines brought."""
        for uart, port in enumerate(self.ports):
            if machine.uart_unsent(uart) < _UART_BYTES and (typed := port.read(_UART_BYTES)):
                machine.uart_write(uart, typed)
            if came := machine.uart_read(uart):
                port.write(came)
            port.flush()

    def close(self) -> None:
        for port in self.ports:
            port.close()
