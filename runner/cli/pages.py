"""`--output`: the pages that a command writes beside what it prints."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from portbench.results.storage import write

output_option = click.option(
    "--output",
    "outputs",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="PAGE",
    help="page to write, too: .json, a folder if it has no ending, else Markdown; repeatable",
)


def json_text(data: Any) -> str:
    return json.dumps(data, indent=1) + "\n"


def write_pages(paths: Sequence[Path], data: Any, text: str, more: Callable[[], Mapping[str, str]] = dict) -> None:
    """Write `data` to each path that ends in `.json`, and Markdown `text` to the others; to a path without an ending, a
    folder, both, with the files that `more` makes. Raises StorageError."""
    for path in paths:
        if path.suffix:
            write(path, json_text(data) if path.suffix.lower() == ".json" else text)
        else:
            for name, content in {"page.json": json_text(data), "page.md": text, **more()}.items():
                write(path / name, content)
