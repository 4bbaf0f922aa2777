"""Tables of a run, for the terminal (rich) and as Markdown (tabulate), from the same cells.

Each workload has its own, and of each silicon, emulated and hosted rows are ranked by themselves, and apart from them
those that the PC has timed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, get_args

import tabulate
from rich.cells import cell_len
from rich.console import Group as Renderables
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from portbench.results.model import Row, RunFile, Status, TimedBy
from portbench.results.stats import Group, group_rows
from portbench.shown import shown
from portbench.where import Where
from portbench.workloads import Column, UnknownWorkload, Workload, workload

_ABOUT: Final = {
    Where.SILICON: "Real boards, timed by themselves.",
    Where.EMULATED: "Emulated boards, timed by themselves in simulated time.",
    Where.HOSTED: "Ports that run on the PC itself: no board, the PC's time.",
}
_TIMED_BY_PC: Final = {
    Where.SILICON: "Real boards with images that tell nothing, timed by the PC",
    Where.EMULATED: "Emulated boards with images that tell nothing, timed by the simulated PC",
    Where.HOSTED: "Ports that tell nothing, timed by the PC",
}
_LEFT: Final = frozenset(
    {"runtime", "build", "version", "profile", "board", "SPI MHz asked -> real", "INTn", "address", "notes"}
    | {"workload", "where", "status", "reason"}
)
_FOLDING: Final = frozenset({"notes", "reason"})
_FOLDED_WIDTH: Final = 24
_LEAST_WANTED: Final = ("address", "board", "build", "version", "ready ms", "notes")
"""These leave a narrow terminal first, then the workload's own from the last on, then those of `_MORE_WANTED`."""
_MORE_WANTED: Final = ("spread", "runs", "where", "silicon", "SPI MHz asked -> real", "INTn")


@dataclass(frozen=True)
class Table:
    """One table: cells are text, columns that would be empty throughout are left out."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    own: tuple[str, ...] = ()
    """Columns that the workload brings, the most wanted first."""

    def markdown(self) -> str:
        """As GitHub-flavoured Markdown, with its title as a heading."""
        align = ["left" if column in _LEFT else "right" for column in self.columns]
        cells = [[_escape(cell) for cell in row] for row in self.rows]
        body = tabulate.tabulate(cells, self.columns, tablefmt="pipe", colalign=align, disable_numparse=True)
        return f"## {self.title}\n\n{self.about}\n\n{body}\n"

    def rich(self, width: int) -> RichTable:
        """For a terminal of `width` characters: columns that have no room are left out and named below."""
        left_out: list[str] = []
        for column in (*_LEAST_WANTED, *reversed(self.own), *_MORE_WANTED):
            if self._width(left_out) <= width:
                break
            if column in self.columns:
                left_out.append(column)
        about = self.about
        if left_out:
            about += f" A wider terminal also shows: {', '.join(left_out)}."
        table = RichTable(title=Text(self.title), title_justify="left", caption=Text(about), caption_justify="left")
        for column in self.columns:
            if column not in left_out:
                right, folds = column not in _LEFT, column in _FOLDING
                table.add_column(Text(column), justify="right" if right else "left", overflow="fold", no_wrap=not folds)
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
    """The run's tables: of each workload silicon, emulated and hosted, and what was not measured; none is empty."""
    made = [
        _measured(name, where, timed_by, group_rows(run.rows, name, where, timed_by))
        for name in dict.fromkeys(row.workload for row in run.rows)
        for where in Where
        for timed_by in get_args(TimedBy)
    ]
    made.append(_not_measured(row for row in run.rows if row.status is not Status.MEASURED))
    return [table for table in made if table.rows]


def markdown(run: RunFile) -> str:
    """All tables of the run as Markdown."""
    return "\n".join(table.markdown() for table in tables(run)) or "Nothing was run.\n"


def terminal(run: RunFile, width: int) -> RenderableType:
    """All tables of the run for a rich console of `width` characters."""
    return Renderables(*(table.rich(width) for table in tables(run))) if run.rows else Text("Nothing was run.")


def _measured(name: str, where: Where, timed_by: TimedBy, groups: list[Group]) -> Table:
    known = _workload(name)
    title = f"{known.title if known else name}: {where}"
    about = _ABOUT[where]
    if timed_by == "pc":
        title += ", timed by the PC"
        about = f"{_TIMED_BY_PC[where]}: from one {known.exchange if known else 'exchange'}'s arrival to the next's."
    lines = [{"rank": str(rank), **_cells(group, known)} for rank, group in enumerate(groups, start=1)]
    asked = (row.conditions.turnaround_us for group in groups for row in group.rows)
    if times := sorted({value for value in asked if value is not None}):
        low, high = f"{times[0]:.0f}", f"{times[-1]:.0f}"
        about += f" PC turnaround {low if low == high else f'{low} to {high}'} us."
    own = [column.title for column in _columns(known, groups)]
    own += [setting for group in groups for setting in group.first.settings]
    return _table(title, about, lines, tuple(dict.fromkeys(own)))


def _workload(name: str) -> Workload | None:
    """None for one of somebody whose workloads are not here."""
    try:
        return workload(name)
    except UnknownWorkload:
        return None


def _columns(known: Workload | None, groups: list[Group]) -> tuple[Column, ...]:
    """What the workload shows; of an unknown one every figure."""
    if known is not None:
        return known.columns
    names = dict.fromkeys(name for group in groups for name in group.first.figures)
    return tuple(Column(name, name) for name in names if groups[0].headline.name != name and name != "ready_us")


def _cells(group: Group, known: Workload | None) -> dict[str, str]:
    row = group.first
    silicon, ratio, ready_us = group.published, group.ratio, group.figure("ready_us")
    return {
        "runtime": row.runtime,
        "build": row.build if row.build != row.image_file else "",
        "version": row.version,
        "profile": row.profile or "",
        "board": row.board or "",
        "SPI MHz asked -> real": _spi(row),
        "INTn": "" if row.conditions.intn is None else "yes" if row.conditions.intn else "no",
        "address": row.conditions.address_mode or "",
        **{name: str(value) for name, value in row.settings.items()},
        "runs": str(group.value.n),
        group.headline.unit: _figure(group.value.median),
        "spread": f"{group.value.spread:.1%}{' unstable' if group.unstable else ''}",
        **{column.title: _cell(column, group) for column in _columns(known, [group])},
        "ready ms": "" if ready_us is None else f"{ready_us / 1000:.0f}",
        "silicon": "" if silicon is None else _figure(silicon),
        "ratio": "" if ratio is None else f"{ratio:.2f}",
        "notes": "; ".join(_notes(group, known)),
    }


def _cell(column: Column, group: Group) -> str:
    if column.statistic is None:
        value = group.figure(column.of)
    else:
        summary = group.sample(column.of)
        value = None if summary is None else getattr(summary, column.statistic)
    return "" if value is None else _figure(value * column.scale)


def _notes(group: Group, known: Workload | None) -> Iterable[str]:
    if group.unstable:
        yield f"unstable: {', '.join(group.unstable)}"
    if published := group.publication:
        titles = (column.title for column in _columns(known, [group]) if column.of == published.figure)
        of = f" ({next(titles, published.figure)})" if published.figure else ""
        yield f"silicon{of}: {published.source}"
    yield from sorted({row.note for row in group.rows if row.note})


def _not_measured(rows: Iterable[Row]) -> Table:
    seen: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        key = (row.workload, row.runtime, row.profile or "", row.board or "", row.where, row.status, row.reason or "")
        seen.setdefault(key, []).append(row.run_index)
    columns = ("workload", "runtime", "profile", "board", "where", "status", "reason")
    lines = [{**dict(zip(columns, key, strict=True)), "runs": str(len(indices))} for key, indices in seen.items()]
    return _table("Not measured", "Rows that were skipped or failed, and why.", lines)


def _table(title: str, about: str, lines: list[dict[str, str]], own: tuple[str, ...] = ()) -> Table:
    names = dict.fromkeys(name for line in lines for name in line)
    columns = tuple(column for column in names if any(line.get(column) for line in lines))
    cells = tuple(tuple(shown(line.get(column, "")) for column in columns) for line in lines)
    return Table(shown(title), about, tuple(map(shown, columns)), cells, tuple(map(shown, own)))


def _spi(row: Row) -> str:
    asked, actual = row.conditions.spi_hz_asked, row.conditions.spi_hz_actual
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
