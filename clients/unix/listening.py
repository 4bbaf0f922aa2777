"""WORKLOAD_TITLE client for MicroPython's unix port, run on the PC: the operating system's TCP/IP, no board.

Runs beside portbench_config.json. Prints where it listens, PORTBENCH-LISTENING {...}, and at the end one line,
PORTBENCH {...}.
"""

import json
import socket
import sys
import time
from array import array

RESULT = {}
BOOTED_US = time.ticks_us()


def elapsed_us():
    return time.ticks_diff(time.ticks_us(), BOOTED_US)


def listen(config):
    RESULT["stage"] = "listen"
    RESULT["address"] = "127.0.0.1"
    listener = socket.socket()
    listener.bind(socket.getaddrinfo(RESULT["address"], config["port"])[0][-1])
    listener.listen(4)
    RESULT["ready_us"] = elapsed_us()
    print("PORTBENCH-LISTENING", json.dumps({"address": RESULT["address"], "port": config["port"]}))
    return listener


def workload(listener, **settings):
    """The workload's body takes this place."""


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        workload(listen(config), **config)
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
