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
    ticks_us, ticks_diff = time.ticks_us, time.ticks_diff
    value = 1
    started_ms = time.ticks_ms()
    started = ticks_us()
    for i in range(messages):
        sent = ticks_us()
        sock.send(str(value))
        answer = sock.recv(16)
        if not answer or int(answer) != value + 1:
            finish(sock, answer, value + 1)
        round_trip_us[i] = ticks_diff(ticks_us(), sent)
        value += 2
    total_us = ticks_diff(ticks_us(), started)
    total_ms = time.ticks_diff(time.ticks_ms(), started_ms)
    sock.close()
    RESULT["messages"] = messages
    RESULT["total_us"] = total_us if total_ms < 500_000 else total_ms * 1000  # ticks_us wraps at 2**30
    RESULT["round_trip_us"] = list(round_trip_us)
    del RESULT["stage"]
