"""Write a run as a Markdown page.

FILE is a run file; without it, or as `latest`, the newest of the results' folder.
"""

from __future__ import annotations

from pathlib import Path

import click

from portbench.results.publish import PAGE, publish
from portbench.results.storage import StorageError, read
from portbench.runner.cli.faults import one_line
from portbench.runner.cli.options import bench_option, run_file


@click.command()
@click.argument("file", required=False, type=click.Path())
@bench_option("results_dir")
@click.option("--output", type=click.Path(path_type=Path), default=PAGE, metavar="PAGE", help=f"default {PAGE}")
@click.option("--force", is_flag=True, help="also in place of a page that has rows which the run has not")
def COMMAND(file: str | None, results_dir: str | None, output: Path, force: bool) -> None:
    with one_line(StorageError):
        publish(read(run_file(file, results_dir)), output, force=force)
    click.echo(output)
