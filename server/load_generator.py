"""The PC's connections to a listening board over real sockets, for synchronous code."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from portbench.errors import PortbenchError
from portbench.server.calls import CONNECT_LIMIT_US, IDLE_LIMIT_US, RETRY_US, Calls, Listening
from portbench.server.connection import Connection, Limits
from portbench.server.recording import Recording
from portbench.server.tls.channel import Channel
from portbench.server.tls.openssl import peer
from portbench.workloads import LoadGenerator, Session

MAX_BYTES: Final = 4 << 20
"""The most that one connection keeps."""
_START_LIMIT_S: Final = 10.0
_STOP_LIMIT_S: Final = 5.0
_STOPPED: Final = "the load generator was stopped"


class SocketLoadGenerator:
    """Connects to a board after `call`, in the event loop of a separate thread, until the `with` block ends.

    A connection may be refused for `connect_limit_s` and be without a whole exchange for `idle_timeout_s`. `on_fault`
    is called in this thread with the reason, in one line, for which the run can have no figures.
    """

    def __init__(
        self,
        load: LoadGenerator,
        *,
        max_bytes: int = MAX_BYTES,
        connect_limit_s: float = CONNECT_LIMIT_US / 1e6,
        idle_timeout_s: float = IDLE_LIMIT_US / 1e6,
        on_fault: Callable[[str], None] = lambda fault: None,
    ) -> None:
        self.on_fault = on_fault
        self._calls = Calls(load, connect_limit_s * 1e6, None if load.tls is None else lambda: _channel(load))
        self._limits = Limits(max_bytes, idle_timeout_s)
        self._connect_limit_us = connect_limit_s * 1e6
        self._started_ns = time.perf_counter_ns()
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._told = False

    def __enter__(self) -> SocketLoadGenerator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None or self._loop is None or self._stop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_STOP_LIMIT_S)
        if self._thread.is_alive() and kind is None:
            raise PortbenchError(f"the PC's connections did not end within {_STOP_LIMIT_S:g} s")

    def call(self, board: Listening) -> None:
        """Open the connections, at the first call only. Raises PortbenchError."""
        if self._thread is not None:
            return
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(board, started), name=f"load on {board}", daemon=True)
        self._thread.start()
        if not started.wait(_START_LIMIT_S):
            raise PortbenchError(f"{board}: connecting did not begin within {_START_LIMIT_S:g} s; try again")

    def finish(self, timeout_s: float) -> list[Session]:
        """The sessions of all connections so far, once all are over or `timeout_s` has passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._calls.load.over, timeout_s)
            return self._calls.sessions()

    def _run(self, board: Listening, started: threading.Event) -> None:
        asyncio.run(self._call(board, started))

    async def _call(self, board: Listening, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        started.set()
        lines = asyncio.create_task(self._lines(board))
        stop = asyncio.create_task(self._stop.wait())
        await asyncio.wait((lines, stop), return_when=asyncio.FIRST_COMPLETED)
        for task in (lines, stop):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await lines

    async def _lines(self, board: Listening) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._calls.load.at_once):
                group.create_task(self._line(board))

    async def _line(self, board: Listening) -> None:
        """Open one connection after the other."""
        while (recording := self._calls.begin(str(board), self._clock_us())) is not None:
            try:
                await self._one(board, recording)
            finally:
                self._ended(recording)
            await asyncio.sleep(self._calls.load.pause_us / 1e6)

    async def _one(self, board: Listening, recording: Recording) -> None:
        """Drive a connection from its first attempt to its end; `recording` gets its error."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def ended(_: Connection) -> None:
            if not over.done():  # it is cancelled where the load generator is stopped
                over.set_result(None)

        def made() -> Connection:
            return Connection(recording, self._limits, None, self._clock_us, ended)

        connection: Connection | None = None
        try:
            while connection is None:
                left_us = recording.started_us + self._connect_limit_us - self._clock_us()
                try:
                    async with asyncio.timeout(left_us / 1e6):
                        _, connection = await loop.create_connection(made, str(board.address), board.port)
                except ConnectionRefusedError:
                    if not self._calls.refused(recording, self._clock_us()):
                        return
                    await asyncio.sleep(RETRY_US / 1e6)
            await over
        except TimeoutError:
            limit = f"{self._connect_limit_us / 1e6:g} s"
            refused = recording.attempts - 1
            recording.error = (
                f"refused {refused} times in {limit}" if refused else f"no answer to connecting within {limit}"
            )
        except OSError as error:
            recording.error = f"cannot connect ({error.strerror or error})"
        except asyncio.CancelledError:
            recording.error = recording.error or _STOPPED
            if connection is not None:
                connection.abort(_STOPPED)
            raise

    def _ended(self, recording: Recording) -> None:
        with self._changed:
            self._calls.ended(recording, self._clock_us())
            self._changed.notify_all()
        stopped = self._stop is not None and self._stop.is_set()
        if self._calls.fault is not None and not self._told and not stopped:
            self._told = True
            self.on_fault(self._calls.fault)

    def _clock_us(self) -> float:
        return (time.perf_counter_ns() - self._started_ns) / 1000


def _channel(load: LoadGenerator) -> Channel:
    return Channel(peer(), lambda _: int(time.time()), load.tls)
