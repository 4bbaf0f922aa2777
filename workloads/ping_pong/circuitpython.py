"""The ping-pong of a board: sends a number, gets it plus one, and notes how long that took."""

import time
from array import array

from portbench_client import RESULT


def finish(sock, answer, expected):
    """Read the rest of an answer that was split over TCP segments."""
    expected = str(expected).encode()
    while answer != expected:
        if not expected.startswith(answer):
            raise ValueError("expected %s, got %s" % (expected, answer))
        more = sock.recv(16)
        if not more:
            raise OSError("the server closed the connection")
        answer += more


def ping_pong(sock, messages):
    RESULT["stage"] = "run"
    round_trip_us = array("I", bytes(4 * messages))
    monotonic_ns = time.monotonic_ns
    value = 1
    started = monotonic_ns()
    for i in range(messages):
        sent = monotonic_ns()
        sock.send(str(value).encode())
        answer = sock.recv(16)
        if not answer or int(answer) != value + 1:
            finish(sock, answer, value + 1)
        round_trip_us[i] = (monotonic_ns() - sent) // 1000
        value += 2
    RESULT["total_us"] = (monotonic_ns() - started) // 1000
    sock.close()
    RESULT["messages"] = messages
    RESULT["round_trip_us"] = list(round_trip_us)
    del RESULT["stage"]
