"""`python -m portbench.boards.remote`: an attached board's console on the network, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from portbench.boards.definition import board_definition
from portbench.boards.errors import BoardError
from portbench.boards.remote.serial_server import SerialServer
from portbench.boards.usb.board import default_bus
from portbench.boards.usb.selection import Target, parse_selector, select


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m portbench.boards.remote", description=__doc__)
    parser.add_argument("--board", default="W5500_EVB_PICO", help="kind of board (default %(default)s)")
    parser.add_argument("--device", default="auto", help="which one: auto, id:SERIAL, port:PATH (default %(default)s)")
    parser.add_argument(
        "--listen", default="127.0.0.1:2217", metavar="HOST:PORT", help="default %(default)s: this PC only"
    )
    parser.add_argument("--raw", action="store_true", help="a plain socket instead of RFC 2217")
    arguments = parser.parse_args()
    host, _, port = arguments.listen.rpartition(":")
    if not host or not port.isdigit():
        parser.error(f"--listen: {arguments.listen!r} is not HOST:PORT")
    try:
        definition = board_definition(arguments.board)
        selector = parse_selector(arguments.device)
        target = Target(default_bus(selector), lambda devices: select(devices, selector, definition))
        target.find()
        server = SerialServer(
            target.find,
            protocol="raw" if arguments.raw else "rfc2217",
            host=host,
            port=int(port),
            log=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except (BoardError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with server:
        print(f"--device={server.url}", flush=True)
        while not ended.wait(0.25):  # Windows delivers Ctrl-C only between two waits
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
