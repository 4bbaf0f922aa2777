"""WORKLOAD_TITLE client for CircuitPython on a BOARD_MACHINE.

Runs as code.py beside portbench_config.json. Prints one line, PORTBENCH {...}, at the end, once a console is there to read
it; one that listens says where before, PORTBENCH-LISTENING {...}.
"""

import json
import os
import sys
import time
import traceback
from array import array

import board
import supervisor

RESULT = {}
BOOTED_NS = time.monotonic_ns()


def elapsed_us():
    return (time.monotonic_ns() - BOOTED_NS) // 1000


def check_deadline(config):
    if elapsed_us() > config["ready_timeout_s"] * 1_000_000:
        raise OSError("not ready within %s s" % config["ready_timeout_s"])


def get_address(config):
    """The part for the board's kind of network takes this place: nic, link, address. Returns what makes a socket."""


def get_socket(config, make_socket):
    """The part for the workload's readiness takes this place."""


def workload(sock, **settings):
    """The workload's body takes this place."""


def no_reload():
    """A PC that mounts the drive writes to it, which would start the script again in mid-run."""
    try:
        supervisor.runtime.autoreload = False
    except AttributeError:  # releases before 8
        supervisor.disable_autoreload()


def main():
    no_reload()
    config = {"ready_timeout_s": 0}
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = os.uname().machine
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        RESULT["address_mode"] = config["address_mode"]
        RESULT["spi_hz_asked"] = config["spi_hz"]
        workload(get_socket(config, get_address(config)), **config)
    except Exception as error:
        traceback.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    done_us = elapsed_us()
    while not supervisor.runtime.serial_connected and elapsed_us() - done_us < config["ready_timeout_s"] * 1_000_000:
        time.sleep(0.005)
    print("PORTBENCH", json.dumps(RESULT))


main()
