"""`python -m portbench.boards.emulated`: an emulated board on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

from pydantic import ValidationError

from portbench.boards.definition import board_definition
from portbench.boards.emulated.config import CONFIG
from portbench.boards.emulated.process import BoardProcess
from portbench.boards.errors import BoardError
from portbench.boards.registry import runtime_dir
from portbench.complaint import first_complaint


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m portbench.boards.emulated", description=__doc__)
    parser.add_argument("--board", default="W5500_EVB_PICO", help="board definition (default %(default)s)")
    parser.add_argument("--name", default="emulated-0", help="name of this board (default %(default)s)")
    parser.add_argument("--flash", type=Path, help="initial contents of flash, a raw image from its start")
    parser.add_argument("--config", default="{}", help="settings as JSON, see boards/emulated/config.py")
    parser.add_argument("--log", type=Path, help="write the log there instead of to standard error")
    return parser


def main() -> int:
    arguments = _parser().parse_args()
    try:
        config = CONFIG.validate_json(arguments.config)
        flash = arguments.flash.read_bytes() if arguments.flash else b""
        folder = runtime_dir() / arguments.name
        with arguments.log.open("a", encoding="utf-8") if arguments.log else nullcontext(sys.stderr) as log:

            def note(line: str) -> None:
                print(line, file=log, flush=True)

            board = BoardProcess(arguments.name, board_definition(arguments.board), config, folder, note, flash)
            # Whoever started the board decides when it ends; Ctrl-C in a terminal reaches its whole group.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            note(f"{arguments.name}: {folder}")
            board.run()
    except FileExistsError as error:
        print(f"{error.filename}: an emulated board of that name runs already; use --name", file=sys.stderr)
        return 1
    except ValidationError as error:
        print(f"emulated board {arguments.name}: --config: {first_complaint(error)}", file=sys.stderr)
        return 1
    except (BoardError, ValueError, OSError) as error:
        print(f"emulated board {arguments.name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
