"""The real PC's UDP port in a workload, of the same number as its TCP server's."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

from portbench.workloads import Datagrams, Workload


async def serve_datagrams(workload: Workload, listener: socket.socket) -> asyncio.DatagramTransport | None:
    """Beside `listener`, until it is closed; None where the workload has no use for it. Raises OSError."""
    datagrams = workload.datagrams()
    if datagrams is None:
        return None
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Port(datagrams), local_addr=listener.getsockname()[:2], family=listener.family
    )
    return transport


class _Port(asyncio.DatagramProtocol):
    def __init__(self, datagrams: Datagrams) -> None:
        self._datagrams = datagrams
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        loop = asyncio.get_running_loop()
        for after_us, answer in self._datagrams.receive(f"{addr[0]}:{addr[1]}", data):
            loop.call_later(after_us / 1e6, self._send, answer, addr)

    def _send(self, answer: bytes, addr: tuple[Any, ...]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(answer, addr)
