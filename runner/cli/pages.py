"""`--output`: the pages that a command writes beside what it prints."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from portbench.files import replace_file
from portbench.results.storage import writing

output_option = click.option(
    "--output",
    "outputs",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="PAGE",
    help="page to write, too: .json, else Markdown; repeatable",
)


def json_text(data: Any) -> str:
    return json.dumps(data, indent=1) + "\n"


def write_pages(paths: Sequence[Path], data: Any, text: str) -> None:
    """Write `data` to each path that ends in `.json`, and Markdown `text` to the others. Raises StorageError."""
    for path in paths:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json_text(data) if path.suffix.lower() == ".json" else text)
