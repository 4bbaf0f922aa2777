"""`python -m portbench.boards.desk`: an emulated board on this machine, until Ctrl-C."""

import argparse
import signal
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil
from pydantic import ValidationError

from portbench.boards.console import BoundedLog
from portbench.boards.definition import board_definition
from portbench.boards.desk.config import CONFIG
from portbench.boards.desk.flash_file import FlashFile
from portbench.boards.desk.forwards import parse_rule
from portbench.boards.desk.process import BoardProcess
from portbench.boards.registry import PortLinks, claimed_folder
from portbench.errors import PortbenchError, first_complaint
from portbench.signals import end_at_first_signal

_MOST_FLASH_BYTES: Final = 16 << 20
"""The most that XIP can address (RP2040 datasheet 2.6.3)."""
_LOOK_S: Final = 0.25


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m portbench.boards.desk", description=__doc__)
    parser.add_argument("--board", default="W5500_EVB_PICO", help="board definition (default %(default)s)")
    parser.add_argument("--name", default="emulated-0", help="name of this board (default %(default)s)")
    parser.add_argument("--flash", type=Path, help="initial contents of flash, a raw image from its start")
    parser.add_argument("--keep-flash", type=Path, help="file of the flash, created if missing and kept up to date")
    parser.add_argument("--links", action="store_true", help="make links with lasting names to its ports")
    parser.add_argument("--config", default="{}", help="settings as JSON, see boards/desk/config.py")
    parser.add_argument(
        "--forward",
        action="append",
        default=[],
        metavar="RULE",
        help="such as tcp:8080:80, see docs/network.md; repeatable",
    )
    parser.add_argument("--log", type=Path, help="write the log there instead of to standard error")
    parser.add_argument("--end-with", type=int, metavar="PID", help="end when this process has ended")
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    end_at_first_signal(lambda number: sys.exit(130 if number == signal.SIGINT else 0))
    try:
        config = CONFIG.validate_json(arguments.config)
        rules = [str(parse_rule(rule)) for rule in arguments.forward]
        config = replace(config, forward=(*config.forward, *rules))
        flash = _flash(arguments.flash) if arguments.flash else b""
        with (
            arguments.log.open("a", encoding="utf-8") if arguments.log else nullcontext(sys.stderr) as log,
            claimed_folder(arguments.name) as folder,
        ):

            def write(line: str) -> None:
                with suppress(OSError):  # the board goes on where its terminal was closed or the disk is full
                    print(line, file=log, flush=True)

            notes = BoundedLog(write)
            definition = board_definition(arguments.board)
            kept = None if arguments.keep_flash is None else FlashFile(arguments.keep_flash, definition)
            links = PortLinks(folder) if arguments.links else None
            board = BoardProcess(arguments.name, definition, config, folder, notes, flash, kept, links)
            notes.note(f"{arguments.name}: {folder}")
            if arguments.end_with is None:
                board.run()
            else:
                board.run(_Holder(arguments.end_with).has_ended)
    except ValidationError as error:
        print(f"emulated board {arguments.name}: --config: {first_complaint(error)}", file=sys.stderr)
        return 1
    except (PortbenchError, ValueError, OSError) as error:
        print(f"emulated board {arguments.name}: {error}", file=sys.stderr)
        return 1
    return 0


class _Holder:
    """The process `pid`, for which the board was started. Asked often, it looks a few times a second."""

    def __init__(self, pid: int) -> None:
        self._next_look_s = 0.0
        self._gone = False
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess:
            self._gone = True

    def has_ended(self) -> bool:
        """True if it has ended, even as a zombie or with its number in use by another process."""
        if not self._gone and (now_s := time.monotonic()) >= self._next_look_s:
            self._next_look_s = now_s + _LOOK_S
            try:
                self._gone = not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE
            except psutil.NoSuchProcess:
                self._gone = True
        return self._gone


def _flash(path: Path) -> bytes:
    """Read a raw image of the flash. Raises ValueError or OSError."""
    if not path.is_file():
        raise ValueError(f"--flash: {path}: is not a file; name a raw image of the flash")
    if (size := path.stat().st_size) > _MOST_FLASH_BYTES:
        raise ValueError(f"--flash: {path}: {size} bytes, more than {_MOST_FLASH_BYTES}; name a raw image of the flash")
    return path.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
