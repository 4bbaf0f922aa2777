"""The terminal, or the pipe or file in its place: its width, its colours, and the one style of tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import IO, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

COLUMNS: Final = 100
"""The width of a pipe and of a file: a CI log shows as much without breaking lines."""


GAP: Final = 2
"""The blanks between two columns."""


def console(file: IO[str] | None = None, *, stderr: bool = False) -> Console:
    """Standard output, or `file`, or standard error: as wide as the terminal, without one `COLUMNS` wide."""
    made = Console(file=file, stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(file=file, stderr=stderr, highlight=False, width=COLUMNS)


def new_table(
    columns: Sequence[str], *, title: str | None = None, right: Collection[str] = (), folding: Collection[str] = ()
) -> Table:
    """A table without rows. Numbers go to the `right`; only the columns `folding` may take more than one line."""
    made = Table(
        title=None if title is None else Text(title),
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=None,
        padding=(0, GAP, 0, 0),
        pad_edge=False,
    )
    for column in columns:
        made.add_column(
            Text(column),
            justify="right" if column in right else "left",
            overflow="fold",
            no_wrap=column not in folding,
        )
    return made


def plain_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], folding: Collection[str]) -> Table:
    """A table of text."""
    made = new_table(columns, title=title, folding=folding)
    for row in rows:
        made.add_row(*map(Text, row))
    return made
