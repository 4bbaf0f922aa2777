"""The terminal, or the pipe or file in its place: its width, its colours, the one style of tables, and safe text.

Processes of boards use `shown` alone, so only the functions that draw import rich.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from portbench.narrow import FittingTable

COLUMNS: Final = 100
"""The width of a pipe and of a file: a CI log shows as much without breaking lines."""


GAP: Final = 2
"""The blanks between two columns."""


def console(file: IO[str] | None = None, *, stderr: bool = False) -> Console:
    """Standard output, or `file`, or standard error: as wide as the terminal, without one `COLUMNS` wide."""
    from rich.console import Console

    made = Console(file=file, stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(file=file, stderr=stderr, highlight=False, width=COLUMNS)


_COMMAND: Final = re.compile(r": (?=(?:curl(?:\.exe)?|labgrid-client|make|pip|portbench) )")


def tell(text: str) -> None:
    """Print one line on standard error; a terminal breaks it as `print_line` does."""
    if not sys.stderr.isatty():
        print(shown(text), file=sys.stderr, flush=True)
        return
    print_line(console(stderr=True), shown(text))


def print_line(out: Console, line: Text | str) -> None:
    """Print one line. A terminal that is too narrow breaks it between words, before a command: this is copied whole."""
    from rich.text import Text

    line = Text(line) if isinstance(line, str) else line
    command = _COMMAND.search(line.plain) if out.is_terminal and line.cell_len > out.width else None
    said, *rest = line.divide([command.end()]) if command else [line]
    out.print(said, soft_wrap=not out.is_terminal)
    for each in rest:
        out.print("   ", each, soft_wrap=True)


def new_table(
    columns: Sequence[str], *, title: str | None = None, right: Collection[str] = (), folding: Collection[str] = ()
) -> FittingTable:
    """A table without rows. Numbers go to the `right`; only the columns `folding` may take more than one line.

    Where whole words do not fit side by side, it is a list.
    """
    from rich.text import Text

    from portbench.narrow import FittingTable

    made = FittingTable(
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


def plain_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], folding: Collection[str]
) -> FittingTable:
    """A table of text."""
    from rich.text import Text

    made = new_table(columns, title=title, folding=folding)
    for row in rows:
        made.add_row(*map(Text, row))
    return made


_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # C0 but the tabulator, DEL, C1
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # turn the order of what follows, or begin a line
    "\ufffe\uffff"  # not text, and not in XML
    "\ud800-\udfff]"  # bytes of a file's name that are not text
)


def shown(text: str) -> str:
    """`text` with control characters as escapes (`\\x1b`), fit for a terminal, a table and any file."""
    return _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # as Python keeps a byte that it cannot decode
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
