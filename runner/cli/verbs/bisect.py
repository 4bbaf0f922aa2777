"""Find the first slow one among the images of a folder, by measuring as few as need be.

The images are in the order of their names, with numbers as numbers: the first is taken for fast, the last for slow.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from portbench.errors import PortbenchError
from portbench.results.compare import Comparison, compare
from portbench.results.model import RunFile
from portbench.runner.cli.comparing import limit_option, measuring_options, print_comparison
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import given
from portbench.runner.jobs.run import measure_image

_USUAL = 0.02


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@measuring_options
@limit_option
def COMMAND(folder: Path, fail_if_slower: float | None, **values: Any) -> int:
    limit = _USUAL if fail_if_slower is None else fail_if_slower
    images = sorted(folder.glob("*.uf2"), key=_by_number)
    if len(images) < 2:
        raise click.ClickException(f"{folder}: has {len(images)} .uf2 images; bisecting needs 2 at least")
    with one_line():
        options = given(values)
        fast = measure_image(images[0], options)
        slow, compared = len(images) - 1, _beside(fast, images[-1], options)
        if not _is_slow(compared, limit):
            click.echo(f"none is slower: {images[-1].name} is within {limit:.3%} of {images[0].name}")
            return 1
        known_fast = 0
        while slow - known_fast > 1:
            middle = (known_fast + slow) // 2
            between = _beside(fast, images[middle], options)
            if _is_slow(between, limit):
                slow, compared = middle, between
            else:
                known_fast = middle
    print_comparison(compared, limit)
    click.echo(
        f"first slow image: {images[slow].name}; {images[slow - 1].name} before it is as fast as {images[0].name}"
    )
    return 0


def _by_number(path: Path) -> list[tuple[int, str]]:
    """`build-9.uf2` before `build-10.uf2`."""
    parts = re.split(r"(\d+)", path.stem)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _beside(fast: RunFile, image: Path, options: dict[str, Any]) -> list[Comparison]:
    compared = compare(fast, measure_image(image, options))
    if not compared:
        raise PortbenchError(f"{image}: has no row in common with the first image; are both for one board?")
    return compared


def _is_slow(compared: list[Comparison], limit: float) -> bool:
    return any(each.is_slower_than(limit) for each in compared)
