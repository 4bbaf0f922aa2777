"""A table that is a list of its rows in a terminal that is too narrow for it."""

import textwrap
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.style import StyleType
from rich.table import Table
from rich.text import Text

_INDENT: Final = "  "
_WORD: Final = 16
"""A column that may fold breaks words of more characters."""


class FittingTable(Table):
    """Cuts no cell and breaks no usual word: where a column would have to, each row is a heading and a paragraph."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if (widths := self._fitting(console, options)) is None:
            yield from self._listed(options.max_width)
            return
        fitting = copy(self)
        # Padding goes by a column's number, which is another one where a column was left out.
        fitting.columns = [
            replace(column, width=width, _index=number, _cells=[_filled(cell, width) for cell in column.cells])
            for number, (column, width) in enumerate(zip(self.columns, widths, strict=True))
        ]
        yield from Table.__rich_console__(fitting, console, options)

    def fits(self, console: Console) -> bool:
        """True where it is drawn as a table."""
        return self._fitting(console, console.options) is not None

    def _fitting(self, console: Console, options: ConsoleOptions) -> list[int] | None:
        """The columns' widths: the widest folds first, none below its longest usual word. None where
        that is too wide."""
        unbound = options.update(width=10_000)
        least, widths = [], []
        for column in self.columns:
            cells = [Measurement.get(console, unbound, cell) for cell in (column.header, *column.cells)]
            widths.append(column.width or max(cell.maximum for cell in cells))
            folds = not (column.width or column.no_wrap)
            least.append(min(max(cell.minimum for cell in cells), _WORD) if folds else widths[-1])
        room = options.max_width - self.padding[1] * (len(widths) - 1)
        while sum(widths) > room:
            spare = [number for number, width in enumerate(widths) if width > least[number]]
            if not spare:
                return None
            widths[max(spare, key=widths.__getitem__)] -= 1
        return widths

    def _listed(self, width: int) -> Iterator[Text]:
        if self.title:
            yield from _wrapped(str(self.title), width, "", self.title_style)
        for number, row in enumerate(self.rows):
            heading, *others = (list(column.cells)[number] for column in self.columns)
            yield from _wrapped(_text(heading), width, "", row.style)
            said = [
                f"{_text(column.header)} {text}".strip()
                for column, cell in zip(self.columns[1:], others, strict=True)
                if (text := _text(cell).strip())
            ]
            yield from _wrapped(", ".join(said), width, _INDENT, row.style)
        if self.caption:
            yield from _wrapped(str(self.caption), width, "", "")


def _text(cell: RenderableType) -> str:
    """A drawing has none."""
    return str(cell) if isinstance(cell, str | Text) else ""


def _filled(cell: RenderableType, width: int) -> RenderableType:
    if not isinstance(cell, Text) or cell.spans:
        return cell
    return Text("\n".join(str(line) for line in _wrapped(cell.plain, width, "", None)))


def _wrapped(text: str, width: int, indent: str, style: StyleType | None) -> Iterator[Text]:
    """Keeps a number and its `%` on one line."""
    kept = text.replace(" %", "\N{NO-BREAK SPACE}%")
    for line in textwrap.wrap(kept, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False):
        yield Text(line.replace("\N{NO-BREAK SPACE}", " "), style=style or "")
