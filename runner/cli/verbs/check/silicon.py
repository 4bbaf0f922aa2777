"""Compare the emulated board with figures that others published of real boards.

Each part is a publication. A figure of the same image has to be within 1 % of silicon.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from portbench.engine import needs_engine
from portbench.errors import OptionError
from portbench.runner.cli.checking import carry_out, check_options, tell

_FILE = click.Path(path_type=Path)


@click.command()
@check_options
@click.option("--from", "files", multiple=True, type=_FILE, metavar="FILE", help="Read a record instead (repeatable).")
@click.option("--publish", "page", type=_FILE, metavar="PAGE", help="Write a Markdown page of all publications.")
@click.option(
    "--waveforms",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Write the SPI wires of one payload byte of each AVR board's ping as VCD files.",
)
def COMMAND(files: tuple[Path, ...], page: Path | None, waveforms: Path | None, **shared: Any) -> int:
    from portbench.runner.checks.silicon.check import RecordedSilicon, Silicon

    if page is not None and shared["parts"]:
        raise OptionError("--publish: a page has all publications; leave out --part")
    if not files and not shared["only_list"]:
        needs_engine()
    check = RecordedSilicon(tell, files, page) if files else Silicon(tell, page, waveforms=waveforms)
    return carry_out(check, **shared)
