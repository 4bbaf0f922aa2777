"""Ping-pong client for MicroPython's unix port, run on the PC: the operating system's TCP/IP, no board.

Runs beside portbench_config.json. Prints one line, PORTBENCH {...}.
"""

import errno
import json
import socket
import sys
import time
from array import array

RETRY = (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH)
RESULT = {}
BOOTED_US = time.ticks_us()


def elapsed_us():
    return time.ticks_diff(time.ticks_us(), BOOTED_US)


def connect(config):
    RESULT["stage"] = "connect"
    RESULT["connect_attempts"] = 0
    address = socket.getaddrinfo(config["server"], config["port"])[0][-1]
    while True:
        sock = socket.socket()
        RESULT["connect_attempts"] += 1
        try:
            sock.connect(address)
            RESULT["ready_us"] = elapsed_us()
            return sock
        except OSError as error:
            sock.close()
            if error.args[0] not in RETRY or elapsed_us() > config["ready_timeout_s"] * 1_000_000:
                raise
        time.sleep_ms(5)


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
    started = ticks_us()
    for i in range(messages):
        sent = ticks_us()
        sock.send(str(value))
        answer = sock.recv(16)
        if not answer or int(answer) != value + 1:
            finish(sock, answer, value + 1)
        round_trip_us[i] = ticks_diff(ticks_us(), sent)
        value += 2
    RESULT["total_us"] = ticks_diff(ticks_us(), started)
    sock.close()
    RESULT["messages"] = messages
    RESULT["round_trip_us"] = list(round_trip_us)
    del RESULT["stage"]


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        ping_pong(connect(config), config["messages"])
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
