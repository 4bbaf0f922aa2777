"""`python -m portbench.results`: shows a run as tables, or publishes it as docs/results.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from portbench.results.publish import PAGE, publish
from portbench.results.storage import LATEST, RESULTS_FOLDER, StorageError, read
from portbench.results.table import terminal


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m portbench.results", description=__doc__)
    parser.add_argument("action", choices=["publish", "show"])
    parser.add_argument(
        "file", type=Path, nargs="?", default=RESULTS_FOLDER / LATEST, help="run file (default: the latest)"
    )
    parser.add_argument("--output", type=Path, default=PAGE, help="page to publish (default: docs/results.md)")
    options = parser.parse_args(argv)
    try:
        run = read(options.file)
        if options.action == "publish":
            publish(run, options.output)
            print(options.output)
        else:
            console = Console()
            console.print(terminal(run, console.width))
    except StorageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
