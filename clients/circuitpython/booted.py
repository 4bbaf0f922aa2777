"""WORKLOAD_TITLE client for CircuitPython, on any board: no network is touched.

Runs as code.py beside portbench_config.json. Prints one line, PORTBENCH {...}, once a console is there to read it.
"""

import json
import os
import sys
import time
import traceback

import supervisor

RESULT = {}
CONSOLE_S = 30


def workload(**settings):
    """The workload's body takes this place."""


def no_reload():
    """A PC that mounts the drive writes to it, which would start the script again in mid-run."""
    try:
        supervisor.runtime.autoreload = False
    except AttributeError:  # releases before 8
        supervisor.disable_autoreload()


def main():
    no_reload()
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = os.uname().machine
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        RESULT["stage"] = "run"
        workload(**config)
        del RESULT["stage"]
    except Exception as error:
        traceback.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    done_ns = time.monotonic_ns()
    while not supervisor.runtime.serial_connected and time.monotonic_ns() - done_ns < CONSOLE_S * 1_000_000_000:
        time.sleep(0.005)
    print("PORTBENCH", json.dumps(RESULT))


main()
