"""Compare two runs or images.

A and B are run files, `latest`, names of runs (`portbench run --name`), or revisions at which they were measured. Or
they are firmware (a .uf2 image, a runtime's id, or a release as micropython@latest), measured now with the options of
`portbench run`. One image is compared with itself by --library NAME=OLD --library NAME=NEW, or by one --library, which
only B then has.
"""

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from portbench.results.compare import Comparison
from portbench.results.compare_comment import comment, mark
from portbench.results.compare_table import as_data, markdown
from portbench.results.exports import exported
from portbench.results.model import RunFile
from portbench.runner.cli.comparing import compared_sides, limit_option, measuring_options, print_comparison, verdict
from portbench.runner.cli.pages import json_text, output_option, write_pages

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
    if after is None:
        if not options["library"]:
            folder = f"; for a folder: portbench bisect {before}" if Path(before).is_dir() else ""
            raise click.UsageError(f"{before}: name a second run or image to compare with{folder}")
        after = before
    runs, compared = compared_sides((before, after), options, (elf, beside_elf))
    data = as_data(compared, fail_if_slower)
    if as_json:
        click.echo(json_text(data), nl=False)
    else:
        print_comparison(compared, fail_if_slower, times=times)
    # By these names a later comment finds the one to replace.
    marked = mark(os.environ.get("GITHUB_JOB", ""), after, *options["library"][-1:])
    more = partial(_report, runs, compared, fail_if_slower, marked)
    write_pages(outputs, data, markdown(compared, fail_if_slower, times=times), more)
    return verdict(compared, fail_if_slower)


def _report(
    runs: tuple[RunFile, RunFile], compared: Sequence[Comparison], limit: float | None, mark: str
) -> dict[str, str]:
    """The files beside the pages: those by which a second workflow comments, and both sides' scores of perf_bench."""
    files = {"comment.md": comment(compared, limit, mark)}
    if number := re.fullmatch(r"refs/pull/(\d+)/merge", os.environ.get("GITHUB_REF", "")):
        files["pull-request"] = f"{number[1]}\n"
    for side, run in zip("AB", runs, strict=True):
        files |= {f"{side}/{path}": text for path, text in exported(run, "run-perfbench").items()}
    return files
