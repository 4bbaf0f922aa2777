"""A serial port on which every read and write ends at a deadline, as mpremote's transport needs it from us."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

import serial

from portbench.boards.timing import Deadline
from portbench.errors import ConsoleLost

_LOOK_S = 0.05
"""Longest time in one system call, so that a watcher is asked and a vanished port noticed."""


class PortLost(ConsoleLost):
    """The port itself went away."""


class Wire:
    """Wraps an open port. `watch` is called while waiting and may raise what it sees of the board.

    Raises DeadlineExceeded at the deadline that was set last, PortLost when the port goes away.
    """

    def __init__(self, port: serial.Serial, name: str, watch: Callable[[], None] | None = None) -> None:
        self._port = port
        self._name = name
        self._watch = watch
        self._buffer = bytearray()
        self._deadline: Deadline | None = None
        self._waiting_for = ""

    def until(self, deadline: Deadline, waiting_for: str) -> None:
        """From now on, wait for `waiting_for` and no longer than this."""
        self._deadline, self._waiting_for = deadline, waiting_for

    def read(self, n: int = 1) -> bytes:
        """Exactly `n` bytes."""
        while len(self._buffer) < n:
            self._fill(self._remaining())
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data

    def read_some(self, wait_s: float) -> bytes:
        """Return the bytes that have come, after waiting at most `wait_s` for the first."""
        if self._watch is not None:
            self._watch()
        if not self._buffer:
            self._fill(wait_s)
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def read_until_quiet(self, quiet_s: float, most_s: float) -> bytes:
        """Everything until nothing has come for `quiet_s`, or for `most_s` in all."""
        end = time.monotonic() + most_s
        data = b""
        while time.monotonic() < end:
            more = self.read_some(quiet_s)
            if not more:
                break
            data += more
        return data

    def inWaiting(self) -> int:  # pyserial's old name, which mpremote calls
        self._fill(0)
        return len(self._buffer)

    def write(self, data: bytes) -> int:
        try:
            self._port.write_timeout = max(self._remaining(), 0.001)
            self._port.write(data)
        except serial.SerialTimeoutException:
            assert self._deadline is not None
            raise self._deadline.exceeded(f"{self._name} to take what was typed") from None
        except OSError as error:
            raise self._lost(error) from error
        return len(data)

    def close(self) -> None:
        self._port.close()

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
        """A port that has gone reads as silent on some systems; poll tells."""
        fd = getattr(self._port, "fd", None)
        if fd is None or not hasattr(select, "poll"):
            return
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)):
            raise OSError("the port has hung up")

    def _lost(self, error: OSError) -> PortLost:
        return PortLost(f"{self._name}: its console went away while waiting for {self._waiting_for}: {error}")
