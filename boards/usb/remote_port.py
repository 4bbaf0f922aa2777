"""Serial ports somewhere else: pyserial's RFC 2217 and socket ports, fit for reads and writes with deadlines."""

from __future__ import annotations

import queue
import socket
import time
from typing import cast

import serial
import serial.rfc2217
from serial.urlhandler import protocol_socket

_PEEK_BYTES = 4096
_IGNORE = "ign_set_control"
"""ser2net answers requests for DTR and RTS only where its port has such lines, and pyserial would wait for it."""


class Rfc2217Port(serial.rfc2217.Serial):
    """As pyserial 3.5's, whose every change of a timeout negotiates the port anew, and which throws away what it had
    read once the connection has ended."""

    _read_buffer: queue.Queue[bytes | None]

    @property
    def timeout(self) -> float | None:
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    @property
    def write_timeout(self) -> float | None:
        """Cannot be set: the connection's own limit of 5 s holds (`serial.rfc2217.Serial.open`)."""
        return None

    @write_timeout.setter
    def write_timeout(self, seconds: float | None) -> None:
        pass

    def reset_input_buffer(self) -> None:
        self._reset_input_buffer()

    def _reset_input_buffer(self) -> None:
        """A separate method, which `open_port` replaces to keep waiting bytes, as on POSIX ports."""
        super().reset_input_buffer()

    def read(self, size: int = 1) -> bytes:
        """Up to `size` bytes within the timeout; SerialException once the connection has ended and all is read."""
        if not self.is_open:
            raise serial.PortNotOpenError()
        data = bytearray()
        end_s = None if self._timeout is None else time.monotonic() + self._timeout
        while len(data) < size:
            try:
                left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
                byte = self._read_buffer.get(left_s != 0, left_s)
            except queue.Empty:
                break
            if byte is None:  # the reader thread's last word
                self._read_buffer.put(None)
                if data:
                    break
                raise serial.SerialException("the server closed the connection")
            data += byte
        return bytes(data)


class SocketPort(protocol_socket.Serial):
    """As pyserial 3.5's, which tells of one waiting byte at most."""

    _socket: socket.socket

    def reset_input_buffer(self) -> None:
        self._reset_input_buffer()

    def _reset_input_buffer(self) -> None:
        super().reset_input_buffer()

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read now. SerialException once the connection has ended and all is read."""
        if not self.is_open:
            raise serial.PortNotOpenError()
        try:
            data = self._socket.recv(_PEEK_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            return 0
        if not data:
            raise serial.SerialException("the server closed the connection")
        return len(data)


def remote_port(url: str, baudrate: int) -> serial.Serial:
    """The port of an rfc2217:// or socket:// URL, not open yet. Raises ValueError for any other."""
    kinds = {"rfc2217": Rfc2217Port, "socket": SocketPort}
    kind = kinds.get(url.partition("://")[0])
    if kind is None:
        raise ValueError(f"{url} is neither rfc2217:// nor socket://")
    port = kind(baudrate=baudrate, timeout=0)
    if kind is Rfc2217Port and _IGNORE not in url:
        url += ("&" if "?" in url else "?") + _IGNORE
    port.port = url
    return cast(serial.Serial, port)  # it has all of its methods that portbench calls
