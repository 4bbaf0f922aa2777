"""A ping-pong client on this PC: shows that the server is not what limits a board."""

from __future__ import annotations

import socket
import time

from portbench.server.records import Turnaround

_LIMIT_S = 10.0


def measure_round_trip(host: str, port: int, messages: int) -> Turnaround:
    """Round trips of `messages` messages to the server at `host`:`port`, in microseconds; raises `OSError`."""
    values_us: list[float] = []
    with socket.create_connection((host, port), timeout=_LIMIT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(1, 2 * messages, 2):
            expected = b"%d" % (number + 1)
            before_ns = time.perf_counter_ns()
            client.sendall(b"%d" % number)
            answer = client.recv(16)
            values_us.append((time.perf_counter_ns() - before_ns) / 1000)
            while len(answer) < len(expected) and (more := client.recv(16)):
                answer += more
            if answer != expected:
                raise ConnectionError(f"{host}:{port} answered {answer!r} to {number}, not {expected!r}")
    summary = Turnaround.of(values_us)
    if summary is None:
        raise ValueError(f"messages is {messages}; give at least 1")
    return summary
