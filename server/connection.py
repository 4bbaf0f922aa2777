"""One real connection, opened by either side and driven by asyncio."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from portbench.errors import PortbenchError
from portbench.server.icmp import ping
from portbench.server.recording import Recording
from portbench.workloads import NetworkFault, PingPlan

_LAST_S = 1.0
"""After the last exchange of a limited run: time for the client to close or to send excess bytes."""


@dataclass(frozen=True)
class Limits:
    """The limits of one connection."""

    max_bytes: int
    idle_timeout_s: float
    """Longest time without a whole exchange or a whole report, even if single bytes come."""


class Connection(asyncio.Protocol):
    """Runs on its owner's event loop, and calls `ended` once, after its end.

    `refusal`: the reason to refuse it at once. `clock_us`: the clock of its owner.
    """

    def __init__(
        self,
        recording: Recording,
        limits: Limits,
        refusal: str | None,
        clock_us: Callable[[], float],
        ended: Callable[[Connection], None],
    ) -> None:
        self._limits = limits
        self._refusal = refusal
        self._clock_us = clock_us
        self._ended = ended
        self.recording = recording
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._progress_s = time.monotonic()
        self.closing = False
        """Further received bytes are ignored."""
        self._last_timer: asyncio.TimerHandle | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._silence: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        return self.recording.peer.rpartition(":")[0]

    @property
    def silent_since_s(self) -> float | None:
        """The start of its silence on the monotonic clock; None after a whole exchange or report."""
        return None if self.recording.exchanges or self.recording.reported else self._progress_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if peer := transport.get_extra_info("peername"):
            self.recording.peer = f"{peer[0]}:{peer[1]}"
        if self.closing:  # aborted before the connection was handed over
            self._transport.abort()
            return
        if self._refusal is not None:
            self.abort(self._refusal)
            return
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._progress_s = time.monotonic()
        self.recording.conversation.line = self
        if said := self.recording.established(self._clock_us()):
            self._transport.write(said)
        self._watch()

    def data_received(self, data: bytes) -> None:
        received_us = self._clock_us()
        if self.closing or self._transport is None:
            return
        recording = self.recording
        before = recording.exchanges
        answer = recording.receive(data, received_us)
        if answer:
            self._transport.write(answer)
        recording.sent(self._clock_us())
        if recording.error is not None or recording.finished:
            self._end(recording.error)
            return
        if recording.conversation.network_fault is not None:
            self._inject(recording.conversation.network_fault)
            return
        self._bound_silence(recording.conversation.silence_us)
        if self._pinging is None and recording.conversation.pings is not None:
            self._pinging = asyncio.get_running_loop().create_task(self._ping(recording.conversation.pings))
        if recording.exchanges > before or recording.reported:
            self._progress_s = time.monotonic()
        if recording.whole and self._last_timer is None:
            # Some clients close without a FIN, and some only stop.
            self._last_timer = asyncio.get_running_loop().call_later(_LAST_S, self.abort, None)
        if recording.received_bytes > self._limits.max_bytes:
            self._end(f"more than {self._limits.max_bytes} bytes came")

    def pause_writing(self) -> None:
        # A client that sends without reading would fill this process's memory with answers.
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        if not self.closing:
            self.recording.eof(self._clock_us())
            self.closing = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._last_timer is not None:
            self._last_timer.cancel()
        if self._pinging is not None:
            self._pinging.cancel()
        if self._silence is not None:
            self._silence.cancel()
        if not self.closing:
            self.recording.lost(_reason(exc))
        self.closing = True
        self.recording.ended(self._clock_us())
        self._ended(self)

    def send(self, data: bytes, after_us: float) -> None:
        asyncio.get_running_loop().call_later(after_us / 1e6, self._deliver, data)

    def close(self) -> None:
        asyncio.get_running_loop().call_soon(self._end, None)

    def _deliver(self, data: bytes) -> None:
        if self._transport is not None and not self.closing:
            self._transport.write(self.recording.encrypted(data))
            self.recording.delivered(self._clock_us())

    def _bound_silence(self, limit_us: float | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        if limit_us is not None:
            self._silence = asyncio.get_running_loop().call_later(limit_us / 1e6, self._silent)

    def _silent(self) -> None:
        if not self.closing:
            self.recording.conversation.lost()
            self._end(None)

    def abort(self, error: str | None) -> None:
        """End the connection at once; `error` is None if nothing was wrong."""
        if not self.closing:
            self.recording.error = error
            self.closing = True
        if self._transport is not None:
            self._transport.abort()

    def _inject(self, fault: NetworkFault) -> None:
        if fault.kind == "reset":
            self.abort(None)
        else:
            self.abort(f"only a simulated PC can cause this network fault: {fault}")

    async def _ping(self, plan: PingPlan) -> None:
        """Ping the board during the connection, and tell the conversation afterwards."""
        try:
            found = await ping(self.address, plan)
        except PortbenchError as error:
            self._end(str(error))
            return
        self._progress_s = time.monotonic()
        if self._transport is not None and not self.closing:
            self._transport.write(self.recording.pinged(found))

    def _end(self, error: str | None) -> None:
        """End the connection once all due bytes are sent; the timer still bounds that."""
        self.recording.error = error
        self.closing = True
        if self._transport is not None:
            self._transport.close()

    def _watch(self) -> None:
        """Abort after too long a silence; otherwise look again later."""
        pinging = self._pinging is not None and not self._pinging.done()
        calling = self.recording.conversation.listening is not None and not self.recording.reported
        if pinging or calling:  # these have limits elsewhere
            self._progress_s = time.monotonic()
        left_s = self._progress_s + self._limits.idle_timeout_s - time.monotonic()
        if left_s > 0:
            self._timer = asyncio.get_running_loop().call_later(left_s, self._watch)
        elif self.recording.reported:
            self.abort(None)
        else:
            limit = f"{self._limits.idle_timeout_s:g} s after {self.recording.exchanges} exchanges"
            self.abort(f"no whole exchange for {limit}")


def _reason(exc: Exception | None) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    return type(exc).__name__ if exc is not None else "closed"
