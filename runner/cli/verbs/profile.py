"""Show a row's cycles by function: memory, calls and flash cache misses.

ROW is RUNTIME/PROFILE or RUNTIME (default portbench-native). Names come from --elf, from an ELF or map file beside the
image, or else from the image.
"""

import json
from pathlib import Path
from typing import Any

import click

from portbench.console import console
from portbench.engine import needs_engine
from portbench.files import replace_file
from portbench.runner.cli.row import check_writable, replayed_row, row_argument

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOUND = click.Path(path_type=Path, dir_okay=False, exists=True)
_DEFAULT_HZ = 10_007


@click.command()
@row_argument
@click.option("--elf", type=_FOUND, help="the image's ELF file or linker map, for names")
@click.option(
    "--sampled", type=click.IntRange(1, 10_000_000), metavar="HZ", help=f"samples a second (default: {_DEFAULT_HZ})"
)
@click.option("--exact", is_flag=True, help="follow each instruction and call (slow)")
@click.option("--whole", is_flag=True, help="from power-up on, not from the first message to the last")
@click.option("--against", metavar="ROW", help="another row: which code runs from which memory in both")
@click.option("--top", type=click.IntRange(1), default=15, show_default=True, help="lines of a table")
@click.option("--speedscope", type=_FILE, help="write the profile, for speedscope.app")
@click.option("--folded", type=_FILE, help="write folded stacks, for flame graphs")
def COMMAND(
    row: str,
    elf: Path | None,
    sampled: int | None,
    exact: bool,
    whole: bool,
    against: str | None,
    top: int,
    speedscope: Path | None,
    folded: Path | None,
    **values: Any,
) -> None:
    if exact and sampled:
        raise click.UsageError("--exact and --sampled exclude each other; leave out one of them")
    needs_engine()
    from portbench.runner.profile import export
    from portbench.runner.profile.measure import profile_row
    from portbench.runner.profile.view import show, show_comparison

    def profiled(name: str, names: Path | None) -> Any:
        samples_hz = 0 if exact else sampled or _DEFAULT_HZ
        return profile_row(replayed_row(name, values, names), samples_hz=samples_hz, whole=whole)

    check_writable(path for path in (speedscope, folded) if path is not None)
    profile = profiled(row, elf)
    if speedscope is not None:
        replace_file(speedscope, json.dumps(export.speedscope(profile)))
    if folded is not None:
        replace_file(folded, export.folded(profile))
    if against is None:
        show(profile, top, console())
    else:
        show_comparison(profiled(against, None), profile, top, console())
