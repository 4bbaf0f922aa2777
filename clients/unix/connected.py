"""WORKLOAD_TITLE client for MicroPython's unix port, run on the PC: the operating system's TCP/IP, no board.

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


def workload(sock, **settings):
    """The workload's body takes this place."""


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        workload(connect(config), **config)
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
