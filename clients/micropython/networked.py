"""WORKLOAD_TITLE client for MicroPython on a BOARD_MACHINE: official builds (lwIP) and WIZnet's (hardwired TCP/IP).

Runs as main.py beside portbench_config.json. Prints one line, PORTBENCH {...}, at the end, and keeps the same in RESULT;
one that listens says where before, PORTBENCH-LISTENING {...}.
"""

import json
import socket
import sys
import time
from array import array

try:
    import lwip  # noqa: F401  only builds whose TCP/IP is lwIP have socket time-outs and a use for the INTn pin

    LWIP = True
except ImportError:
    LWIP = False

RESULT = {}
BOOTED_MS = time.ticks_ms()
BOOTED_US = time.ticks_us()


def elapsed_us():
    return time.ticks_diff(time.ticks_us(), BOOTED_US)


def remaining_ms(config):
    left = int(config["ready_timeout_s"] * 1000) - time.ticks_diff(time.ticks_ms(), BOOTED_MS)
    if left <= 0:
        raise OSError("not ready within %s s" % config["ready_timeout_s"])
    return left


def get_address(config):
    """The part for the board's kind of network takes this place: nic, link, address."""


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
        RESULT["address_mode"] = config["address_mode"]
        RESULT["spi_hz_asked"] = config["spi_hz"]
        get_address(config)
        workload(get_socket(config), **config)
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
