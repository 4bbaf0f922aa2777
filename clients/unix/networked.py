"""WORKLOAD_TITLE client for MicroPython's unix port, run on the PC: the operating system's TCP/IP, no board.

Runs beside portbench_config.json. Prints one line, PORTBENCH {...}, at the end; one that listens says where before,
PORTBENCH-LISTENING {...}.
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


def get_socket(config):
    """The part for the workload's readiness takes this place."""


def workload(sock, **settings):
    """The workload's body takes this place."""


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        workload(get_socket(config), **config)
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
