"""A client on this PC: shows that the server is not what limits a board."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from portbench.workloads import Turnaround

_LIMIT_S = 10.0


def measure_round_trip(host: str, port: int, exchanges: Iterable[tuple[bytes, bytes]]) -> Turnaround:
    """Summary of `round_trips_us`. Raises `OSError`."""
    summary = Turnaround.of(round_trips_us(host, port, exchanges))
    if summary is None:
        raise ValueError("there are no exchanges; give at least 1")
    return summary


def round_trips_us(host: str, port: int, exchanges: Iterable[tuple[bytes, bytes]]) -> list[float]:
    """Round trips of `exchanges` (sent bytes, expected answer) with the server at `host`:`port`.

    Raises `OSError`.
    """
    values_us: list[float] = []
    with socket.create_connection((host, port), timeout=_LIMIT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for sent, expected in exchanges:
            before_ns = time.perf_counter_ns()
            client.sendall(sent)
            answer = client.recv(len(expected))
            values_us.append((time.perf_counter_ns() - before_ns) / 1000)
            while len(answer) < len(expected) and (more := client.recv(len(expected) - len(answer))):
                answer += more
            if answer != expected:
                raise ConnectionError(f"{host}:{port} answered {answer!r} to {sent!r}, not {expected!r}")
    return values_us
