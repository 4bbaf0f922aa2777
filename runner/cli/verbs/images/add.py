"""Add images by their content: files may have any name.

A file is recognized by its hash, or by the runtime, version and board that it names. Its hash is locked.
"""

from pathlib import Path

import click

from portbench.console import shown
from portbench.runner.adding import add


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="FOLDER_OR_FILE...", type=click.Path(True, path_type=Path))
def COMMAND(places: tuple[Path, ...]) -> int:
    found = list(add(places))
    for each in found:
        click.echo(shown(f"{each.path}: {each.runtime or each.reason}"))
    if not found:
        raise click.ClickException(f"{places[0]}: has no .uf2 file; name a folder with images")
    return 0 if any(each.runtime for each in found) else 1
