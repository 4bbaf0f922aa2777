"""`python -m portbench.runner.speed`: the emulated board's speed and memory as one table.

Images come from where `pytest bench` takes them; what cannot be had is skipped with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from portbench.boards import BoardError, board_definition
from portbench.firmware import catalogue
from portbench.firmware.images import ImageError, ImageStore
from portbench.results.atomic import replace_file
from portbench.results.environment import describe_machine
from portbench.runner.speed.figures import Figure, table
from portbench.runner.speed.measure import PARTS, Session

PROJECT = Path(__file__).parents[3]
_FILE_COLUMNS = 200


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0; 1 with one line on stderr, or with `--check` where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m portbench.runner.speed", description=__doc__)
    parser.add_argument("--board", default="W5500_EVB_PICO", help="board definition (default %(default)s)")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this part (repeatable)")
    parser.add_argument("--quick", action="store_true", help="rows as short as they can be, without targets")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--check", action="store_true", help="fail where a target is missed")
    options = parser.parse_args(argv)
    try:
        session = Session(board_definition(options.board), ImageStore(catalogue.load()), options.quick, PROJECT)
    except (BoardError, ImageError) as error:
        print(error, file=sys.stderr)
        return 1
    started_utc = datetime.now(UTC)
    load = os.getloadavg()[0]
    figures: list[Figure] = []
    for part in options.part or PARTS:
        print(f"{part} ...", file=sys.stderr)
        figures += PARTS[part](session)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_FILE_COLUMNS)
    console.print(table(figures))
    machine = describe_machine()
    console.print(
        f"{machine.processor}, {machine.cores} cores, load {load:.1f} before the start. "
        "Loops and starts are in CPU time, rows and boards at once by the clock on the wall.",
        soft_wrap=True,
    )
    if options.json is not None:
        report = {
            "started_utc": started_utc.isoformat(),
            "machine": machine.model_dump(mode="json"),
            "load_before": load,
            "figures": [figure.as_json() for figure in figures],
        }
        try:
            replace_file(options.json, json.dumps(report, indent=1) + "\n")
        except OSError as error:
            print(f"{options.json}: cannot be written: {error.strerror}", file=sys.stderr)
            return 1
    return int(options.check and any(figure.met is False for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
