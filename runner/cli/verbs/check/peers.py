"""Run other people's test suites on the emulated board.

Each part is a suite. A program that is right in the earlier record has to be right again. Sources and images
come from --sources, PORTBENCH_FIRMWARE_DIR and the user's cache; clones are fetched from GitHub if necessary.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import platformdirs

from portbench.engine import needs_engine
from portbench.runner.cli.checking import carry_out, check_options, tell
from portbench.runner.cli.options import Seconds

_PROGRAM_S = 600.0
"""Programs with both cores busy or with fast PIO take minutes."""
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(path_type=Path)


@click.command()
@check_options
@click.option(
    "--sources", multiple=True, type=_FOLDER, metavar="DIR", help="Folder of clones, mirrors or .uf2 (repeatable)."
)
@click.option("--built", multiple=True, type=_FOLDER, metavar="DIR", help="Folder of built programs (repeatable).")
@click.option(
    "--against",
    type=_FILE,
    default=Path("docs/evidence/peers.json"),
    show_default=True,
    metavar="FILE",
    help="Earlier record.",
)
@click.option("--limit-s", type=Seconds(), default=7200.0, show_default=True, help="Give a suite up after this time.")
def COMMAND(sources: tuple[Path, ...], built: tuple[Path, ...], against: Path, limit_s: float, **shared: Any) -> int:
    needs_engine()
    from portbench.runner.checks.peers.check import Peers
    from portbench.runner.checks.peers.place import Place

    cache = platformdirs.user_cache_path("portbench", appauthor=False) / "peers"
    place = Place(sources, built, cache, Path(), limit_s, min(limit_s, _PROGRAM_S), tell)
    return carry_out(Peers(tell, place, against), **shared)
