"""Show figures over firmware versions and over time, with their steps.

First keeps each ended run of the results' folder in its history: small files, one for each run of a firmware, which
can be committed and merged.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.bar import END_BLOCK_ELEMENTS, FULL_BLOCK, Bar
from rich.table import Table
from rich.text import Text

from portbench.console import console, new_table
from portbench.results.histories import page_blocks
from portbench.results.histories.series import FigureChange, Series
from portbench.results.histories.store import FOLDER, entries_of, keep, keep_finished, load
from portbench.results.histories.table import as_data, heading, histories, lines, markdown
from portbench.results.shipped import all_shipped
from portbench.results.storage import read
from portbench.runner.cli.options import bench_option
from portbench.runner.cli.pages import json_text, output_option, write_pages

_BAR = 30
history_option = click.option(
    "--history",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help=f"folder of the history (default: {FOLDER} in the results' folder)",
)


@click.command()
@bench_option("results_dir")
@history_option
@click.option(
    "--add",
    "files",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="keep this run, and no other; repeatable",
)
@click.option("--workload", help="only this workload")
@click.option("--runtime", help="only runtimes whose names begin so")
@click.option(
    "--pages",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="write the newest figures into the pages of this folder",
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@output_option
def COMMAND(
    results_dir: Path,
    folder: Path | None,
    files: tuple[Path, ...],
    workload: str | None,
    runtime: str | None,
    pages: Path | None,
    as_json: bool,
    outputs: tuple[Path, ...],
) -> None:
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
        entry for entry in entries if workload in (None, entry.workload) and entry.runtime.startswith(runtime or "")
    ]
    series = histories(chosen)
    steps = {number: each.steps() for number, each in enumerate(series)}
    data = as_data(series, steps)
    write_pages(outputs, data, markdown(series, steps), {})
    if as_json:
        click.echo(json_text(data), nl=False)
        return
    out = console()
    out.print(f"{len(chosen)} measurements in {folder}", highlight=False)
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
