"""Tables of a run, for the terminal (rich) and as Markdown (tabulate), from the same cells.

Silicon, emulated and hosted rows are in tables of their own, each ranked by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import tabulate
from rich.cells import cell_len
from rich.console import Group as Renderables
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from portbench.results.model import Row, RunFile, Status, Where
from portbench.results.stats import Group, group_rows

_TITLES: Final = {
    Where.SILICON: "Silicon",
    Where.EMULATED: "Emulated",
    Where.HOSTED: "Hosted",
}
_ABOUT: Final = {
    Where.SILICON: "Real boards, timed by themselves.",
    Where.EMULATED: "Emulated boards, timed by themselves in simulated time.",
    Where.HOSTED: "Ports that run on the PC itself: no board, no W5500 chip on a wire, the PC's time.",
}
_RIGHT: Final = frozenset(
    {"rank", "messages", "runs", "messages/s", "spread", "round trip us", "p99 us", "ready ms", "silicon/s", "ratio"}
)

_FOLDING: Final = frozenset({"notes", "reason"})
_FOLDED_WIDTH: Final = 24
_LEAST_WANTED: Final = (
    *("board", "address", "p99 us", "ready ms", "version", "notes", "messages", "INTn", "silicon/s", "round trip us"),
    *("where", "SPI MHz asked -> real", "spread", "runs"),
)


@dataclass(frozen=True)
class Table:
    """One table: cells are text, columns that would be empty throughout are left out."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """As GitHub-flavoured Markdown, with its title as a heading."""
        align = ["right" if column in _RIGHT else "left" for column in self.columns]
        cells = [[_escape(cell) for cell in row] for row in self.rows]
        body = tabulate.tabulate(cells, self.columns, tablefmt="pipe", colalign=align, disable_numparse=True)
        return f"## {self.title}\n\n{self.about}\n\n{body}\n"

    def rich(self, width: int) -> RichTable:
        """For a terminal of `width` characters: columns that have no room are left out and named below."""
        left_out: list[str] = []
        for column in _LEAST_WANTED:
            if self._width(left_out) <= width:
                break
            if column in self.columns:
                left_out.append(column)
        about = self.about
        if left_out:
            about += f" A wider terminal also shows: {', '.join(left_out)}."
        table = RichTable(title=self.title, title_justify="left", caption=about, caption_justify="left")
        for column in self.columns:
            if column not in left_out:
                right, folds = column in _RIGHT, column in _FOLDING
                table.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=not folds)
        for row in self.rows:
            shown = zip(self.columns, row, strict=True)
            table.add_row(*(Text(cell) for column, cell in shown if column not in left_out))
        return table

    def _width(self, left_out: list[str]) -> int:
        """Characters that the table needs without the columns `left_out`; folding columns need few."""
        width = 1
        for number, column in enumerate(self.columns):
            if column not in left_out:
                content = max(cell_len(text) for text in (column, *(row[number] for row in self.rows)))
                width += 3 + (min(content, _FOLDED_WIDTH) if column in _FOLDING else content)
        return width


def tables(run: RunFile) -> list[Table]:
    """The run's tables: silicon, emulated, hosted, and what was not measured; those without a row are left out."""
    made = [_measured(where, group_rows(run.rows, where)) for where in Where]
    made.append(_not_measured(row for row in run.rows if row.status is not Status.MEASURED))
    return [table for table in made if table.rows]


def markdown(run: RunFile) -> str:
    """All tables of the run as Markdown."""
    return "\n".join(table.markdown() for table in tables(run)) or "Nothing was run.\n"


def terminal(run: RunFile, width: int) -> RenderableType:
    """All tables of the run for a rich console of `width` characters."""
    return Renderables(*(table.rich(width) for table in tables(run))) if run.rows else Text("Nothing was run.")


def _measured(where: Where, groups: list[Group]) -> Table:
    lines = [{"rank": str(rank), **_cells(group)} for rank, group in enumerate(groups, start=1)]
    about = _ABOUT[where]
    asked = (row.settings.turnaround_us for group in groups for row in group.rows)
    if times := sorted({value for value in asked if value is not None}):
        low, high = f"{times[0]:.0f}", f"{times[-1]:.0f}"
        about += f" PC turnaround {low if low == high else f'{low} to {high}'} us."
    return _table(_TITLES[where], about, lines)


def _cells(group: Group) -> dict[str, str]:
    row = group.first
    silicon = group.published_per_s
    return {
        "runtime": row.runtime,
        "version": row.version,
        "settings": row.profile or "",
        "board": row.board or "",
        "SPI MHz asked -> real": _spi(row),
        "INTn": "" if row.settings.intn is None else "yes" if row.settings.intn else "no",
        "address": row.settings.address_mode or "",
        "messages": str(row.messages),
        "runs": str(group.messages_per_s.n),
        "messages/s": _figure(group.messages_per_s.median),
        "spread": f"{group.messages_per_s.spread:.1%}{' unstable' if group.unstable else ''}",
        "round trip us": _figure(group.round_trip_us.median),
        "p99 us": _figure(group.round_trip_us.p99),
        "ready ms": "" if group.ready_us is None else f"{group.ready_us / 1000:.0f}",
        "silicon/s": "" if silicon is None else _figure(silicon),
        "ratio": "" if silicon is None else f"{group.messages_per_s.median / silicon:.2f}",
        "notes": "; ".join(_notes(group)),
    }


def _notes(group: Group) -> Iterable[str]:
    if group.unstable:
        yield f"unstable: {', '.join(group.unstable)}"
    if asked := next((row.messages_asked for row in group.rows if (row.messages_asked or 0) > row.messages), None):
        yield f"{group.first.messages} of {asked} messages"
    if published := next((row.published for row in group.rows if row.published is not None), None):
        yield f"silicon: {published.source}"
    yield from sorted({row.note for row in group.rows if row.note})


def _not_measured(rows: Iterable[Row]) -> Table:
    seen: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        key = (row.runtime, row.profile or "", row.board or "", row.where, row.status, row.reason or "")
        seen.setdefault(key, []).append(row.run_index)
    columns = ("runtime", "settings", "board", "where", "status", "reason")
    lines = [{**dict(zip(columns, key, strict=True)), "runs": str(len(indices))} for key, indices in seen.items()]
    return _table("Not measured", "Rows that were skipped or failed, and why.", lines)


def _table(title: str, about: str, lines: list[dict[str, str]]) -> Table:
    columns = tuple(column for column in (lines[0] if lines else {}) if any(line[column] for line in lines))
    return Table(title, about, columns, tuple(tuple(line[column] for column in columns) for line in lines))


def _spi(row: Row) -> str:
    asked, actual = row.settings.spi_hz_asked, row.settings.spi_hz_actual
    if asked is None and actual is None:
        return ""
    return f"{'default' if asked is None else _mhz(asked)} -> {'?' if actual is None else _mhz(actual)}"


def _mhz(hertz: int) -> str:
    return f"{hertz / 1e6:.4g}"


def _figure(value: float) -> str:
    """Four significant digits at least, never in exponent form."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.3g}"


def _escape(cell: str) -> str:
    """A cell's text must neither end its cell nor its line, nor be read as HTML."""
    for mark, safe in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("\n", " "), ("\r", " ")):
        cell = cell.replace(mark, safe)
    return cell
