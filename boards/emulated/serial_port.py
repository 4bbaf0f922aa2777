"""The board's serial port as a pseudo-terminal: what a real board's /dev/ttyACM0 is to mpremote, rshell or a person."""

from __future__ import annotations

import contextlib
import errno
import os
import termios
import tty
from typing import Final

BOOTLOADER_BAUD: Final = 1200
"""Whoever sets this speed and closes the port asks for the boot loader."""
_READ_BYTES = 4096
_KEEP_BYTES = 1 << 20
"""Output that nobody reads is kept up to this; then the oldest goes, as the board must not be held up."""


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
        self._unsent = bytearray()

    def fileno(self) -> int:
        return self._master

    def read(self, most: int = _READ_BYTES) -> bytes:
        """What clients wrote, without waiting."""
        try:
            return os.read(self._master, most)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno == errno.EIO:
                return b""
            raise

    def write(self, data: bytes) -> None:
        """Queue what the board printed, and hand over what the terminal takes."""
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
        """There is output that the terminal has not taken."""
        return bool(self._unsent)

    def take_baud(self) -> int | None:
        """The speed a client has set, 0 where the terminal's code is none that we know."""
        try:
            code = termios.tcgetattr(self._slave)[5]
        except termios.error:
            return None
        return _BAUDS.get(code, 0)

    def close(self) -> None:
        for fd in (self._master, self._slave):
            with contextlib.suppress(OSError):
                os.close(fd)


_BAUDS = {getattr(termios, f"B{baud}"): baud for baud in (1200, 2400, 9600, 19200, 38400, 57600, 115200, 230400)}
