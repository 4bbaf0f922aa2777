"""Show figures over firmware versions and over time, with their steps.

First keeps each ended run of the results' folder in its history: small files, one for each run of a firmware, which
can be committed and merged. A..B are commits of the git checkout in the current folder instead: each is built and
measured as by `portbench bisect`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.bar import END_BLOCK_ELEMENTS, FULL_BLOCK, Bar
from rich.table import Table
from rich.text import Text

from portbench.console import console, new_table
from portbench.errors import LibraryMissing
from portbench.results.histories import page_blocks
from portbench.results.histories.series import FigureChange, Series, over_commits
from portbench.results.histories.store import FOLDER, Entry, entries_of, entries_of_commit, keep, keep_finished, load
from portbench.results.histories.table import as_data, heading, histories, lines, markdown
from portbench.results.shipped import all_shipped
from portbench.results.storage import read
from portbench.runner.cli.building import build_options, choose_layouts, commits
from portbench.runner.cli.comparing import measuring_options
from portbench.runner.cli.pages import json_text, output_option, write_pages
from portbench.runner.jobs.run import measure_images

_BAR = 30
history_option = click.option(
    "--history",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help=f"folder of the history (default: {FOLDER} in the results' folder)",
)


@click.command()
@click.argument("line", metavar="[A..B]", required=False)
@history_option
@click.option(
    "--add",
    "files",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="keep this run, and no other; repeatable",
)
@click.option("--runtime", help="only runtimes whose names begin so")
@click.option(
    "--pages",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="write the newest figures into the pages of this folder",
)
@click.option("--every", type=click.IntRange(1), default=1, metavar="N", help="of A..B only each Nth commit")
@build_options
@measuring_options
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@output_option
def COMMAND(
    line: str | None,
    folder: Path | None,
    files: tuple[Path, ...],
    runtime: str | None,
    pages: Path | None,
    every: int,
    as_json: bool,
    outputs: tuple[Path, ...],
    **options: Any,
) -> None:
    if line is not None:
        chosen = list(_of_commits(line, every, options))
        _show(over_commits(chosen), f"{len(chosen)} measurements of {line}", as_json, outputs)
        return
    results_dir, workloads = options["results_dir"], options["workload"]
    folder = folder or results_dir / FOLDER
    if files:
        for file in files:
            keep(read(file), file.name, folder)
    else:
        keep_finished(results_dir, folder)
    entries = load(folder)
    if not entries:
        click.echo(f"{folder}: nothing was measured yet; these figures come with portbench", err=True)
        entries = [entry for name, run in all_shipped() for entry in entries_of(run, name)]
    if pages is not None:
        for page in page_blocks.fill(pages, entries):
            click.echo(page, err=as_json)
    chosen = [
        entry
        for entry in entries
        if (not workloads or entry.workload in workloads) and entry.runtime.startswith(runtime or "")
    ]
    _show(histories(chosen), f"{len(chosen)} measurements in {folder}", as_json, outputs)


def _of_commits(line: str, every: int, options: dict[str, Any]) -> Iterator[Entry]:
    """Builds and measures commits, and leaves out those that do not build. Raises PortbenchError."""
    LibraryMissing.unless_found("ruptures", "history", "finding steps in a history")
    old, _, new = line.partition("..")
    choose_layouts(options)
    with commits(options) as found:
        for commit in found.line(*found.ends(old, new), every):
            if (image := found.made(commit)) is not None:
                (run,) = measure_images([str(image)], options)
                yield from entries_of_commit(run, found.title(commit), str(image))


def _show(series: list[Series], title: str, as_json: bool, outputs: tuple[Path, ...]) -> None:
    steps = {number: each.steps() for number, each in enumerate(series)}
    data = as_data(series, steps)
    write_pages(outputs, data, markdown(series, steps))
    if as_json:
        click.echo(json_text(data), nl=False)
        return
    out = console()
    out.print(title, markup=False, highlight=False)
    for number, each in enumerate(series):
        out.print()
        out.print(_table(each, steps[number], out.encoding))
        for step in steps[number]:
            out.print(f"  {step.comparison}", soft_wrap=True, markup=False, highlight=False)
    if not series:
        out.print("Nothing was measured twice, and nothing in two versions.")


def _table(series: Series, steps: list[FigureChange], encoding: str) -> Table:
    axis, unit = str(series.axis), series.first.unit
    table = new_table((axis, unit, "", " "), title=heading(series), right=(unit,), folding=(" ",))
    table.columns[2].width = _BAR
    for label, value, said, share in lines(series, steps):
        table.add_row(Text(label), Text(value), _bar(share, encoding), Text(said))
    return table


def _bar(share: float, encoding: str) -> Bar | Text:
    """In signs of ASCII where the encoding has no blocks."""
    try:
        (FULL_BLOCK + "".join(END_BLOCK_ELEMENTS)).encode(encoding)
    except UnicodeEncodeError:
        return Text("#" * round(share * _BAR))
    return Bar(1.0, 0, share, width=_BAR)
