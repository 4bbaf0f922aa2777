"""A board's serial port, here or over a network: opened alone or not at all, and read and written with deadlines."""

import errno
import os
import queue
import select
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import serial
import serial.rfc2217
from serial.urlhandler import protocol_socket

from portbench.boards.timing import Deadline
from portbench.boards.wire import Wire
from portbench.errors import BoardUnavailable, ConsoleLost, DeadlineExceeded

_PEEK_BYTES = 4096
_IGNORE = "ign_set_control"
"""ser2net answers requests for DTR and RTS only where its port has such lines, and pyserial would wait for it."""


class Rfc2217Port(serial.rfc2217.Serial):
    """pyserial's port without two faults of 3.5: it negotiates the port anew at each new timeout, and drops what it had
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
    """pyserial's port, whose version 3.5 reports one waiting byte at most."""

    _socket: socket.socket

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


_LOOK_S = 0.05
"""Longest time in one system call, so that a watcher is asked and a vanished port noticed."""


class PortLost(ConsoleLost):
    """The port itself went away."""


class SerialWire(Wire):
    """Wraps an open port. `watch` is called while waiting and may raise what it sees of the board.

    Raises PortLost when the port goes away.
    """

    def __init__(self, port: serial.Serial, name: str, watch: Callable[[], None] | None = None) -> None:
        super().__init__(str(port.port))
        self._port = port
        self._name = name
        self._watch = watch

    def read_some(self, wait_s: float) -> bytes:
        if self._watch is not None:
            self._watch()
        if not self._buffer:
            self._fill(wait_s)
        return self._taken()

    def inWaiting(self) -> int:
        self._fill(0)
        return len(self._buffer)

    def write(self, data: bytes) -> int:
        try:
            self._port.write_timeout = max(self._remaining(), 0.001)
            self._port.write(data)
        except serial.SerialTimeoutException:
            assert self._deadline is not None
            raise self._deadline.exceeded(f"{self._name} to take the typed bytes") from None
        except OSError as error:
            raise self._lost(error) from error
        return len(data)

    def close(self) -> None:
        super().close()
        self._port.close()

    def _wait(self) -> None:
        self._fill(self._remaining())

    def _timer(self, seconds: float) -> Callable[[], bool]:
        end_s = time.monotonic() + seconds
        return lambda: time.monotonic() < end_s

    def _remaining(self) -> float:
        assert self._deadline is not None, "until() comes first"
        if self._watch is not None:
            self._watch()
        self._deadline.check(self._waiting_for)
        return self._deadline.remaining

    def _fill(self, wait_s: float) -> None:
        """Waits at most `wait_s`, and no longer than one look."""
        try:
            waiting = self._port.in_waiting
            if not waiting and wait_s > 0:
                self._port.timeout = min(wait_s, _LOOK_S)
                self._buffer += self._port.read(1)
                waiting = self._port.in_waiting
            if waiting:
                self._port.timeout = 0
                self._buffer += self._port.read(waiting)
            elif wait_s == 0 or not self._buffer:
                self._notice_hangup()
        except OSError as error:
            raise self._lost(error) from error

    def _notice_hangup(self) -> None:
        """A port that has gone reads as silent on some systems; use poll."""
        fd = getattr(self._port, "fd", None)
        if fd is None or not hasattr(select, "poll"):
            return
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)):
            raise OSError("the port has hung up")

    def _lost(self, error: OSError) -> PortLost:
        return PortLost(f"{self._name}: its console went away while waiting for {self._waiting_for}: {error}")


_BAUD = 115200
SETTLE_S = 5.0
"""Time for udev to set a new node's permissions, and for ModemManager to lose interest in it."""
_RETRY_S = 0.1


def open_port(
    url: str,
    name: str,
    deadline: Deadline,
    *,
    provider_pid: int | None = None,
    keep_input: bool = False,
    settle_s: float = SETTLE_S,
) -> serial.Serial:
    """The port `url` (a path, a name, rfc2217:// or socket://), for this process alone.

    `keep_input`: leave what the board has printed already; pyserial throws it away (POSIX only). `provider_pid` may
    hold the port: the process behind a pseudo-terminal. `settle_s`: how long to wait for a new node's permissions and
    for programs that only look at new ports. Raises BoardUnavailable for a port that others use, that this user may not
    use, or that is not there.
    """
    fault = BoardUnavailable(f"{name}: {url} is not there; plug the board in")

    def attempt() -> serial.Serial | None:
        nonlocal fault
        try:
            _refuse_held(url, name, provider_pid)
            return _open(url, keep_input)
        except BoardUnavailable as error:
            fault = error
        except (OSError, ValueError) as error:  # pyserial's SerialException is an OSError
            fault = _explain(url, name, error)
        return None

    try:
        return deadline.part(settle_s, deadline.what).poll(attempt, _RETRY_S, url)
    except DeadlineExceeded:
        raise fault from None


def _open(url: str, keep_input: bool) -> serial.Serial:
    if "://" in url:
        port = remote_port(url, _BAUD)
    else:
        port = serial.serial_for_url(url, baudrate=_BAUD, timeout=0, exclusive=True, do_not_open=True)
    if keep_input:
        discards = "_reset_input_buffer" if hasattr(port, "_reset_input_buffer") else "reset_input_buffer"
        setattr(port, discards, lambda: None)  # `open` calls it
    port.open()
    return port


def _explain(url: str, name: str, error: Exception) -> BoardUnavailable:
    code = getattr(error, "errno", None)
    if code in (errno.EACCES, errno.EPERM) or isinstance(error, PermissionError):
        return BoardUnavailable(f"{name}: no permission to open {url}; {permission_fix(url)}")
    if code in (errno.EAGAIN, errno.EBUSY) or "exclusively lock" in str(error):
        return BoardUnavailable(f"{name}: {url} is in use by another program; close it")
    if code in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return BoardUnavailable(f"{name}: {url} is not there; plug the board in")
    return BoardUnavailable(f"{name}: {url} cannot be opened: {error}")


def permission_fix(path: str) -> str:
    """Tell a user how to get permission for the port."""
    if sys.platform != "linux":
        return "close other programs that use it"
    group = _group(path)
    join = f"join its group (sudo usermod -aG {group} $USER, then log in again)" if group else ""
    rule = "copy docs/60-portbench.rules to /etc/udev/rules.d and plug the board in again"
    return f"{join} or {rule}" if join else rule


def _group(path: str) -> str | None:
    if os.name != "posix":
        return None
    import grp

    try:
        return grp.getgrgid(Path(path).stat().st_gid).gr_name
    except (OSError, KeyError):
        return None


def holders(path: str) -> list[tuple[int, str]]:
    """Processes, with their names, that have `path` open (Linux; those that this user may look at)."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) == path for fd in (process / "fd").iterdir()):
                found.append((int(process.name), (process / "comm").read_text().strip()))
        except OSError:
            continue
    return found


def _refuse_held(url: str, name: str, provider_pid: int | None) -> None:
    """Not every program locks the ports it uses, so that a lock alone does not keep us from disturbing one."""
    if not url.startswith("/dev/"):
        return
    for pid, program in holders(url):
        if pid not in (os.getpid(), provider_pid):
            raise BoardUnavailable(f"{name}: {url} is in use by {program} (process {pid}); close it")
