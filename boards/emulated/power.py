"""`python -m portbench.boards.emulated.power NAME`: switch a running emulated board off and on, BOOTSEL held or not."""

from __future__ import annotations

import argparse
import sys

from portbench.boards.emulated.control import ControlClient
from portbench.boards.errors import BoardError
from portbench.boards.registry import runtime_dir
from portbench.boards.timing import Deadline

_ANSWER_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m portbench.boards.emulated.power", description=__doc__)
    parser.add_argument("name", help="the board's name, as its --name said")
    parser.add_argument("--bootsel", action="store_true", help="hold BOOTSEL meanwhile: the boot loader starts")
    arguments = parser.parse_args()
    try:
        client = ControlClient(runtime_dir() / arguments.name, arguments.name)
        client.call("power_cycle", Deadline(_ANSWER_S, arguments.name), bootsel=arguments.bootsel)
    except BoardError as error:
        print(error, file=sys.stderr)
        return 1
    client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
