"""Tables for a terminal, or for a file that has no width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def console(file_columns: int) -> Console:
    """Standard output; `file_columns` wide where that is no terminal."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=file_columns)


def plain_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], folding: Sequence[str]) -> Table:
    """A line per row, as far as it goes: only the columns `folding` may take more."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in folding)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
