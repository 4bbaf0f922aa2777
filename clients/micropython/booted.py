"""WORKLOAD_TITLE client for MicroPython, on any board: no network is touched.

Runs as main.py beside portbench_config.json. Prints one line, PORTBENCH {...}, and keeps the same in RESULT.
"""

import json
import sys

RESULT = {}


def workload(**settings):
    """The workload's body takes this place."""


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        RESULT["stage"] = "run"
        workload(**config)
        del RESULT["stage"]
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
