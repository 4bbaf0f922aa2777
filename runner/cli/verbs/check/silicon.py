"""Compare the emulated board with figures that others published of real boards.

Each part is a publication. A figure of the same image has to be within 1 % of silicon.
"""

from functools import partial
from pathlib import Path

import click

from portbench.console import console
from portbench.engine import needs_engine
from portbench.errors import OptionError, unknown
from portbench.files import replace_file

_FILE = click.Path(path_type=Path)
_tell = partial(click.echo, err=True)


@click.command()
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="NAME",
    help="Run only this part, or those that begin with it (repeatable).",
)
@click.option("--runtime", "image", type=_FILE, metavar="FILE", help="Measure one part with this build of its source.")
@click.option("--list", "only_list", is_flag=True, help="List the parts, and run none.")
@click.option("--json", "print_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--record", type=_FILE, metavar="FILE", help="Write the findings to FILE.")
@click.option("--from", "files", multiple=True, type=_FILE, metavar="FILE", help="Read a record instead (repeatable).")
@click.option("--publish", "page", type=_FILE, metavar="PAGE", help="Write a Markdown page of all publications.")
@click.option(
    "--waveforms",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Write the SPI wires of one payload byte of each AVR board's ping as VCD files.",
)
def COMMAND(
    parts: tuple[str, ...],
    image: Path | None,
    only_list: bool,
    print_json: bool,
    record: Path | None,
    files: tuple[Path, ...],
    page: Path | None,
    waveforms: Path | None,
) -> int:
    from portbench.results.silicon import load, load_not_compared
    from portbench.runner.silicon.check import Silicon
    from portbench.runner.silicon.compare import Report, faults, title
    from portbench.runner.silicon.page import publish
    from portbench.runner.silicon.records import Recorded, as_json, beginning
    from portbench.runner.silicon.table import show
    from portbench.signals import Interruptions

    publications = {each.id: each for each in load()}
    if page is not None and parts:
        raise OptionError("--publish: a page has all publications; leave out --part")
    chosen = [name for name in publications if not parts or any(_is_of(name, part) for part in parts)]
    if strange := next((part for part in parts if not any(_is_of(name, part) for name in chosen)), None):
        raise OptionError(f"--part: {unknown('part', strange, publications)}")
    of_source = [name for name, each in publications.items() if each.relation == "same source"]
    if image is not None and (len(chosen) != 1 or chosen[0] not in of_source):
        raise OptionError(f"--runtime: an image is for one part; add --part with one of {', '.join(of_source)}")
    if only_list:
        click.echo("\n".join(f"{name}: {title(each)}" for name, each in publications.items()))
        return 0
    if record is not None and not record.absolute().parent.is_dir():
        raise OptionError(f"--record: {record.parent} is not a folder; name a file in one")

    if not files:
        needs_engine()
    source = Recorded(files, publications) if files else Silicon(_tell, image=image, waveforms=waveforms)
    begin = beginning()
    reports: list[Report] = []
    interruptions = Interruptions()
    interruptions.listen()
    try:
        for name in chosen:
            reports.append(source.measure(publications[name]))
            if record is not None:
                replace_file(record, as_json(begin, reports) + "\n")
        if page is not None:
            publish(reports, load_not_compared(), page)
    finally:
        interruptions.ending()
        interruptions.restore()

    if print_json:
        click.echo(as_json(begin, reports))
    else:
        show(console(), reports)
    found = faults(reports)
    for fault in found:
        _tell(fault)
    return 1 if found else 0


def _is_of(name: str, part: str) -> bool:
    """True for the part itself, and for those whose names begin with it: first-post-wiznet-1.0.5 is of first-post."""
    return f"{name}-".startswith(f"{part}-")
