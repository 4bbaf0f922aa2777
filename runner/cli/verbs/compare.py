"""Compare two runs or images, or find the first slow image of a folder.

A and B are run files, `latest`, names of runs (`portbench run --name`), or revisions at which they were measured. Or
they are firmware (a .uf2 image, a runtime's id, or a release as micropython@latest), measured now with the options of
`portbench run`. If A is a folder, without B, its images are taken in the order of their names, build-9 before build-10:
the first is fast, the last slow, and only some of the others are measured. One image is compared with itself by
--library NAME=OLD --library NAME=NEW, or by one --library, which only B then has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from portbench.errors import PortbenchError
from portbench.results.compare import Comparison, compare
from portbench.results.compare_comment import comment, mark
from portbench.results.compare_table import USUAL_LIMIT, as_data, markdown, share
from portbench.results.exports import exported
from portbench.results.model import RunFile
from portbench.runner.cli.comparing import limit_option, look_first, measuring_options, print_comparison, sides, verdict
from portbench.runner.cli.pages import json_text, output_option, write_pages
from portbench.runner.jobs.run import measure_images

_NAMES = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@measuring_options
@limit_option
@click.option("--elf", type=_NAMES, help="A's ELF file or linker map, for names of functions")
@click.option("--beside-elf", type=_NAMES, help="B's ELF file or linker map")
@click.option("--times", is_flag=True, help="times of perf_bench instead of scores, as run-perfbench.py -m")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@output_option
def COMMAND(
    before: str,
    after: str | None,
    fail_if_slower: float | None,
    elf: Path | None,
    beside_elf: Path | None,
    times: bool,
    as_json: bool,
    outputs: tuple[Path, ...],
    **options: Any,
) -> int:
    names = (after or before, *options["library"][-1:])
    show = partial(_show, limit=fail_if_slower, as_json=as_json, outputs=outputs, times=times, names=names)
    if after is None and options["library"] and not Path(before).is_dir():
        after = before
    if after is None:
        if elf or beside_elf:
            raise click.UsageError("--elf, --beside-elf: are for two images; leave them out for a folder")
        if not Path(before).is_dir():
            raise click.UsageError(f"{before}: is not a folder of images; name a second run or image to compare with")
        limit = USUAL_LIMIT if fail_if_slower is None else fail_if_slower
        return _first_slow(Path(before), options, limit, partial(show, limit=limit), as_json)
    runs = sides((before, after), options, (elf, beside_elf))
    compared = compare(*runs)
    if not compared:
        raise click.ClickException(f"{before} and {after} have no row in common that was measured; measure both alike")
    show(compared, runs)
    return verdict(compared, fail_if_slower)


def _show(
    compared: list[Comparison],
    runs: Sequence[RunFile] = (),
    *,
    limit: float | None,
    as_json: bool,
    outputs: tuple[Path, ...],
    times: bool,
    names: Sequence[str],
) -> None:
    """Print the comparison, and write its pages. `names`: B's, by which a later comment finds the one to replace."""
    data = as_data(compared, limit)
    if as_json:
        click.echo(json_text(data), nl=False)
    else:
        print_comparison(compared, limit, times=times)
    job, ref = (os.environ.get(name, "") for name in ("GITHUB_JOB", "GITHUB_REF"))
    more = {"comment.md": comment(compared, limit, mark(job, *names))}
    if number := re.fullmatch(r"refs/pull/(\d+)/merge", ref):
        more["pull-request"] = f"{number[1]}\n"
    for side, run in zip("AB", runs, strict=False):
        more |= {f"{side}/{path}": text for path, text in exported(run, "run-perfbench").items()}
    write_pages(outputs, data, markdown(compared, limit, times=times), more)


def _first_slow(
    folder: Path, options: dict[str, Any], limit: float, show: Callable[[list[Comparison]], None], as_json: bool
) -> int:
    """Compares the first image with the first slow one; the command's status. Raises PortbenchError."""
    images = sorted(folder.glob("*.uf2"), key=_by_number)
    if len(images) < 2:
        raise PortbenchError(f"{folder}: has {len(images)} .uf2 images; give it two at least")
    look_first(list(map(str, images)), options)
    (fast,) = measure_images([str(images[0])], options)
    slow, compared = len(images) - 1, _beside(fast, images[-1], options)
    if not verdict(compared, limit):
        told = f"{images[-1].name}: {_most(compared)} beside {images[0].name}"
        click.echo(f"none is slower by more than {limit * 100:g} %; {told}", err=as_json)
        return 1
    known_fast, last_fast = 0, compare(fast, fast)
    while slow - known_fast > 1:
        middle = (known_fast + slow) // 2
        between = _beside(fast, images[middle], options)
        if verdict(between, limit):
            slow, compared = middle, between
        else:
            known_fast, last_fast = middle, between
    show(compared)
    found = (
        f"first slow image: {images[slow].name}, {_most(compared)} beside {images[0].name};"
        f" {images[known_fast].name} before it: {_most(last_fast)}"
    )
    click.echo(found, err=as_json)
    return 0


def _by_number(path: Path) -> list[tuple[int, str]]:
    """`build-9.uf2` before `build-10.uf2`."""
    parts = re.split(r"(\d+)", path.stem)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _beside(fast: RunFile, image: Path, options: dict[str, Any]) -> list[Comparison]:
    compared = compare(fast, *measure_images([str(image)], options))
    if not compared:
        raise PortbenchError(f"{image}: has no row in common with the first image; measure both alike")
    return compared


def _most(compared: list[Comparison]) -> str:
    """The largest measured difference of all rows: `+2.8 %`."""
    return share(max(each.judged for each in compared)) if compared else "0"
