"""Runs, limit and table of `compare` and `run --baseline`."""

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from portbench.boards import board_definition
from portbench.boards.releases import is_selector, selected
from portbench.clients.own_libraries import libraries_of_sides
from portbench.console import console, plain_table, print_line
from portbench.errors import OptionError, PortbenchError
from portbench.firmware import catalogue
from portbench.narrow import FittingTable
from portbench.results.compare import Comparison, compare
from portbench.results.compare_table import COLUMNS, HINT, LAYOUT_COLUMNS, layouts, library_caution, lines
from portbench.results.compare_why import MISS_COLUMNS, WHY_COLUMNS, lacks_reasons, reasons
from portbench.results.model import RunFile, Status
from portbench.results.run_perfbench import differences
from portbench.results.storage import find_run
from portbench.runner.cli.options import SETTINGS, bench_options
from portbench.runner.jobs.run import measure_images, planned_images
from portbench.runner.options import DEFAULT_BOARD
from portbench.runner.plan import is_file

USUAL_LAYOUTS: Final = 8
"""Layouts of a comparison that misleads without them, unless the user gives a number."""
_PC: Final = "this PC"
"""The board of a hosted port."""
_SPARE: Final = ("by", "unit")
_LAYOUT_SPARE: Final = ("B varies", "A varies", "no misses")
"""Columns that a narrow terminal leaves out, the first one first."""


def as_share(text: str) -> float:
    """Read a share, written `2%`, `0.5%` or `0.02`."""
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise click.BadParameter(f"{text!r} is not a share; write it as 2% or 0.02")
    return share


measuring_options = bench_options(
    *("workload", "profile", "library", "board", "where", "runs", *SETTINGS),
    *("parallel", "attribute", "layouts", "results_dir"),
)
limit_option = click.option(
    "--fail-if-slower",
    type=as_share,
    metavar="SHARE",
    help="status 1 if a row takes longer by more, as 2%; 3 if runs are too few",
)


class Undecided(click.ClickException):
    """No row is known to be slower, and the runs of some are too few to tell."""

    exit_code = 3


def verdict(compared: Sequence[Comparison], limit: float | None) -> int:
    """1 if a row is slower than `limit` allows, else 0. Raises Undecided."""
    if limit is None:
        return 0
    if any(each.is_slower_than(limit) for each in compared):
        return 1
    if few := [each for each in compared if each.too_few]:
        raise Undecided(f"rows with too few runs to tell: {len(few)} of {len(compared)}; measure both with --runs 4")
    return 0


def compared_sides(
    texts: tuple[str, str], options: Mapping[str, Any], elfs: Sequence[Path | None] = ()
) -> tuple[tuple[RunFile, RunFile], list[Comparison]]:
    """The runs that `texts` name, A and B, and their comparison; images with the same libraries are measured together.
    `elfs`: an ELF file or linker map of each image. Raises PortbenchError."""
    named = {Path(text): elf for text, elf in zip(texts, elfs, strict=False) if elf is not None}
    if without := next((path for path in named if not is_file(str(path))), None):
        raise OptionError(f"{without}: is not a file of an image; give --elf or --beside-elf to one")
    options = dict(options) | ({"attribute": True} if named else {})
    own = libraries_of_sides(options.get("library") or (), alike=len(set(texts)) == 1)
    if own[0] != own[1] and not options.get("layouts"):
        options["layouts"] = USUAL_LAYOUTS
    folder = options["results_dir"]
    found = [_image(text, options.get("board") or DEFAULT_BOARD) for text in texts]
    runs = {text: find_run(text, folder) for text, image in zip(texts, found, strict=True) if image is None}
    if any(own) and (run := next(iter(runs), None)) is not None:
        raise OptionError(f"{run}: is a run that was measured before; name images to measure with --library")
    images = list(dict.fromkeys(filter(None, found)))
    for libraries in dict.fromkeys(own if images else ()):
        look_first(images, options | {"library": libraries}, runs)
    measured: dict[tuple[str | None, tuple[str, ...]], RunFile] = {}
    asked = list(zip(found, own, strict=True))
    for libraries in dict.fromkeys(own):
        using = list(dict.fromkeys(image for image, each in asked if image and each == libraries))
        part = measure_images(using, options | {"library": libraries}, named) if using else []
        measured.update(zip([(image, libraries) for image in using], part, strict=True))
    one, other = (runs.get(text) or measured[side] for text, side in zip(texts, asked, strict=True))
    if not (compared := compare(one, other)):
        before, after = texts
        raise PortbenchError(f"{before} and {after} have no row in common that was measured; measure both alike")
    return (one, other), compared


def look_first(images: Sequence[str], options: Mapping[str, Any], runs: Mapping[str, RunFile] | None = None) -> None:
    """Raise PortbenchError for images and runs without a common workload on a board: nothing is measured in vain."""
    has = {
        name: {(row.workload, row.board or _PC) for row in run.rows if row.status is Status.MEASURED}
        for name, run in (runs or {}).items()
    }
    has |= {name: set() for name in images}
    for row in planned_images(images, options)[0]:
        board = _PC if row.entry.family.traits.hosted else row.board.id
        has[str(row.entry.path or row.entry.id)].add((row.workload.name, board))
    if not set.intersection(*has.values()):
        told = (f"{name} has {', '.join(map(' on '.join, sorted(on))) or 'no row'}" for name, on in has.items())
        raise PortbenchError(f"no row in common: {'; '.join(told)}; choose images for one board, and one --workload")


def _image(text: str, board: str) -> str | None:
    """The path or the id of the image that `text` names, a release by its id; None for a run. Raises PortbenchError."""
    if is_file(text):
        return str(Path(text))
    try:
        found = selected(text, board_definition(board), catalogue.load())
    except PortbenchError:
        if is_selector(text):
            raise
        return None
    if len(found) > 1:
        raise OptionError(f"{text}: names {len(found)} releases; name one, as {found[-1].id}")
    return found[0].id


def _print_fitting(out: Console, table: FittingTable, spare: Sequence[str]) -> None:
    """Print as many columns as fit into the lines that the table takes without the `spare` ones; a list has all."""
    tables = [copy(table) for _ in range(len(spare) + 1)]
    for count, each in enumerate(tables):
        each.columns = [column for column in table.columns if str(column.header) not in spare[:count]]
    heights = [len(out.render_lines(each, pad=False)) if each.fits(out) else None for each in tables]
    count = heights.index(heights[-1])
    out.print(tables[count])
    if left_out := spare[:count]:
        out.print(f"A wider terminal also shows: {', '.join(left_out)}.")


def print_comparison(
    compared: Sequence[Comparison], limit: float | None, out: Console | None = None, *, times: bool = False
) -> None:
    """`out`: by default standard output. `times`: of perf_bench the times, not the scores."""
    out = out or console()
    _print_fitting(out, plain_table("B beside A", COLUMNS, lines(compared, limit), ("row", "verdict")), _SPARE)
    for reason in reasons(compared):
        print_line(out, f"\nWhy, {reason.row}:")
        for sentence in reason.sentences:
            print_line(out, f"- {sentence}")
        title = f"Where the time goes, a {reason.noun} on average"
        out.print(plain_table(title, WHY_COLUMNS, reason.lines, folding=()))
        if reason.misses:
            title = f"Where flash cache misses changed most, a {reason.noun} on average"
            out.print(plain_table(title, MISS_COLUMNS, reason.miss_lines, folding=()))
    divided = layouts(compared)
    for table in divided:
        print_line(out, f"\n{table.title}")
    if told := differences(compared, times=times):
        out.print(f"\n{told}", markup=False, soft_wrap=True, highlight=False, end="")
    for each in divided:
        out.print()
        _print_fitting(out, plain_table(f"Code and layout, {each.row}", LAYOUT_COLUMNS, each.lines, ()), _LAYOUT_SPARE)
    if (caution := library_caution(compared)) is not None:
        print_line(out, f"\n{caution}")
    if lacks_reasons(compared):
        print_line(out, HINT)
