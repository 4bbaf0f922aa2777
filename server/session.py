"""One client of the TCP server: bytes from the operating system into the protocol object, with its limits."""

from __future__ import annotations

import asyncio
import datetime
import socket
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from portbench.server.protocol import PingPong, ProtocolError
from portbench.server.records import SessionRecord


@dataclass(frozen=True)
class Limits:
    """What one client may use."""

    max_bytes: int
    idle_timeout_s: float
    """Longest time without a whole message (or the whole report), however many bytes drip in."""


class Session(asyncio.Protocol):
    """Runs on the server's event loop; calls `ended` exactly once, when the connection is gone."""

    def __init__(self, number: int, limits: Limits, refusal: str | None, ended: Callable[[Session], None]) -> None:
        self.number = number
        self._limits = limits
        self._refusal = refusal
        self._ended = ended
        self._ping_pong = PingPong(max_report_bytes=limits.max_bytes)
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._peer = "unknown"
        self._started_utc = datetime.datetime.now(datetime.UTC)
        self._started_s = self._progress_s = time.monotonic()
        self._received_bytes = 0
        self._received_ns = array("q")
        self._sent_ns = array("q")
        self._error: str | None = None
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if peer := transport.get_extra_info("peername"):
            self._peer = f"{peer[0]}:{peer[1]}"
        if self._closing:  # aborted before the connection was handed over
            self._transport.abort()
            return
        if self._refusal is not None:
            self.abort(self._refusal)
            return
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch()

    def data_received(self, data: bytes) -> None:
        received_ns = time.perf_counter_ns()
        if self._closing or self._transport is None:
            return
        self._received_bytes += len(data)
        before = self._ping_pong.messages
        try:
            answer = self._ping_pong.receive(data)
        except ProtocolError as error:
            self._transport.write(error.answer)
            self._account(received_ns, before)
            self._end(str(error))
            return
        if answer:
            self._transport.write(answer)
            self._account(received_ns, before)
        if self._ping_pong.report is not None:
            self._progress_s = time.monotonic()
        if self._received_bytes > self._limits.max_bytes:
            self._end(f"more than {self._limits.max_bytes} bytes came")

    def _account(self, received_ns: int, messages_before: int) -> None:
        if self._ping_pong.messages > messages_before:
            self._received_ns.append(received_ns)
            self._sent_ns.append(time.perf_counter_ns())
            self._progress_s = time.monotonic()

    def pause_writing(self) -> None:
        # A client that sends without reading would fill this process's memory with answers.
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        if not self._closing:
            try:
                self._ping_pong.eof()
            except ProtocolError as error:
                self._error = str(error)
            self._closing = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._closing and self._ping_pong.report is None:
            self._error = f"connection lost after {self._ping_pong.messages} messages ({_reason(exc)})"
        self._closing = True
        self._ended(self)

    def abort(self, error: str) -> None:
        """Ends the connection at once."""
        if not self._closing:
            self._error = error
            self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def record(self) -> SessionRecord:
        """The record as of now; final once `ended` has been called."""
        return SessionRecord(
            number=self.number,
            peer=self._peer,
            started_utc=self._started_utc,
            duration_s=time.monotonic() - self._started_s,
            messages=self._ping_pong.messages,
            received_bytes=self._received_bytes,
            error=self._error,
            report=self._ping_pong.report,
            received_ns=self._received_ns,
            sent_ns=self._sent_ns,
        )

    def _end(self, error: str) -> None:
        """Ends the connection once what is due has been sent; the timer still bounds that."""
        self._error = error
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def _watch(self) -> None:
        """Looks whether the client has been silent for too long; arms itself again otherwise."""
        left_s = self._progress_s + self._limits.idle_timeout_s - time.monotonic()
        if left_s > 0:
            self._timer = asyncio.get_running_loop().call_later(left_s, self._watch)
        elif self._ping_pong.report is not None:
            self._closing = True
            self.abort("")
        else:
            self.abort(
                f"no whole message for {self._limits.idle_timeout_s:g} s after {self._ping_pong.messages} messages"
            )


def _reason(exc: Exception | None) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    return type(exc).__name__ if exc is not None else "closed"
