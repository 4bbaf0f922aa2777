"""Write a run as pages: Markdown, a chart and HTML.

FILE is a run file, `latest`, a run's name or its revision; without it, the newest of the results' folder. A page with
rows that the run lacks is not replaced, unless --force is given.
"""

from pathlib import Path

import click

from portbench.errors import LibraryMissing
from portbench.results.histories.store import FOLDER, keep_finished, load
from portbench.results.publish import CHART, HTML_PAGE, PAGE, publish
from portbench.results.publish import into as put_into
from portbench.results.storage import find_run
from portbench.results.table import panels
from portbench.runner.board_pictures import board_pictures
from portbench.runner.cli.options import bench_option
from portbench.runner.cli.verbs.show.history import history_option


@click.command()
@click.argument("file", required=False, type=click.Path())
@bench_option("results_dir")
@click.option(
    "--output",
    "outputs",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="PAGE",
    help="page to write: .html, .svg (chart), .json (figures to ship), else Markdown; repeatable"
    f" (default: {PAGE} and more)",
)
@history_option
@click.option(
    "--into",
    "places",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="page to put the chart or first table into, between <!-- results --> marks; repeatable",
)
@click.option("--address", metavar="URL", default="", help="where the page will be; link previews need it in full")
@click.option("--force", is_flag=True, help="replace also a page that has more rows")
def COMMAND(
    file: str | None,
    results_dir: Path,
    outputs: tuple[Path, ...],
    folder: Path | None,
    places: tuple[Path, ...],
    address: str,
    force: bool,
) -> None:
    run = find_run(file, results_dir)
    pages = list(outputs) or [PAGE, *([CHART] if panels(run) else []), results_dir / HTML_PAGE]
    if folder is None:
        keep_finished(results_dir, results_dir / FOLDER)
    history = load(folder or results_dir / FOLDER)
    try:
        pictures = board_pictures(row.board for row in run.rows)
        publish(run, pages, history=history, force=force, address=address, pictures=pictures)
    except LibraryMissing as error:
        raise LibraryMissing(f"{error}" if outputs else f"{error}; or write Markdown alone: --output {PAGE}") from error
    for place in places:
        put_into(run, place, next((page for page in pages if page.suffix.lower() == ".svg"), None))
    for page in pages:
        click.echo(page)
