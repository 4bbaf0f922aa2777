"""Tables of a run with their answers, for the terminal (rich) and as Markdown (tabulate), in the same words.

Each workload has separate tables for silicon, emulated and hosted rows, and for rows that the PC has timed.
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, get_args

from rich.cells import cell_len
from rich.console import Group as Renderables
from rich.console import RenderableType
from rich.text import Text

from portbench.console import GAP, new_table
from portbench.results.answer import CODE, answer, is_python, not_at_hand, published_lines, why
from portbench.results.cells import (
    CEILING_RANK,
    EXACT,
    cells,
    escape,
    figure,
    markdown_table,
    own_columns,
    workload_title,
)
from portbench.results.model import RunFile, Status, TimedBy
from portbench.results.stats import Group, group_rows, known_workload
from portbench.where import Where
from portbench.workloads import ForeignServer, Workload

_ABOUT: Final = {
    Where.SILICON: "Real boards, timed by themselves.",
    Where.EMULATED: "Emulated boards, timed by themselves in simulated time.",
    Where.HOSTED: "Programs of the PC, in its own time: ports that need no board, and emulated boards that exchange"
    " with a real PC. A reference, with nothing to flash.",
}
_TIMED_BY_PC: Final = {
    Where.SILICON: "Opaque images on real boards, timed by the PC",
    Where.EMULATED: "Opaque images on emulated boards, timed by the simulated PC",
    Where.HOSTED: "Opaque ports, timed by the PC",
}
_LEFT: Final = frozenset(
    {"runtime", "build", "version", "profile", "board", "SPI MHz asked -> real", "INTn", "address", "notes"}
    | {"workload", "where", "status", "reason"}
)
_FOLDING: Final = frozenset({"notes", "reason"})
_FOLDED_WIDTH: Final = 24
_NOTHING: Final = "-"
"""A value of a matrix that was not measured."""
_PAGE_WIDTH: Final = 120
_SAID_ONCE: Final = ("board", "address", "runs", "spread")
"""Columns that are named once above the table where all rows have the same value, as the workload's settings are."""
_LEAST_WANTED: Final = ("address", "board", "build", "version", "runs", "ready ms", "notes")
"""A narrow terminal drops these columns first, then settings, then the workload's columns from the last on, then
`_MORE_WANTED`. It keeps those that identify a row, its figure and INTn, which explains most of it."""
_MORE_WANTED: Final = ("where", "SPI MHz asked -> real", "spread", "ratio", "silicon")


@dataclass(frozen=True)
class Table:
    """One table. Cells are text; empty columns are left out."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    own: tuple[str, ...] = ()
    """The workload's columns, the most important first."""
    below: tuple[str, ...] = ()
    """Paragraphs; code to paste begins with four spaces."""

    def markdown(self, width: int | None = None) -> str:
        """Return GitHub-flavoured Markdown, with the title as a heading. Columns that do not fit into `width` are left
        out and named above."""
        parts = [f"## {escape(self.title)}\n", self._rows_and_about(width), paragraphs(self.below)]
        return "\n".join(parts).rstrip() + "\n"

    def excerpt(self, width: int) -> str:
        """Return Markdown without the heading, and with the short answer."""
        return "\n".join([self._rows_and_about(width), self.short_answer()]).rstrip() + "\n"

    def short_answer(self) -> str:
        """The answer's first sentence with its code, as Markdown of at most 120 columns."""
        answer = self.below[: 2 if len(self.below) > 1 and self.below[1].startswith(CODE) else 1]
        return "\n\n".join(text if text.startswith(CODE) else _wrapped(escape(text)) for text in answer) + "\n"

    def _rows_and_about(self, width: int | None) -> str:
        columns, rows, about = self._fitting(width, "`portbench show` also has")
        return f"{escape(about)}\n\n{markdown_table(columns, rows, [each for each in columns if each not in _LEFT])}\n"

    def rich(self, width: int) -> RenderableType:
        """For a terminal of `width` characters. Columns that do not fit are left out and named below."""
        columns, rows, about = self._fitting(width, "A wider terminal also shows")
        made = new_table(columns, title=self.title, right=set(columns) - _LEFT, folding=_FOLDING)
        made.caption = Text(about)
        for row in rows:
            made.add_row(*map(Text, row))
        return Renderables(made, *map(_line, self.below))

    def _fitting(self, width: int | None, elsewhere: str) -> tuple[list[str], list[list[str]], str]:
        """The columns that fit into `width` characters, their rows, and the text about them, which names the other
        columns and their place."""
        left_out: list[str] = []
        for column in (*_LEAST_WANTED, *reversed(self.own), *_MORE_WANTED):
            if width is None or self._width(left_out) <= width:
                break
            if column in self.columns:
                left_out.append(column)
        shown = [number for number, column in enumerate(self.columns) if column not in left_out]
        about = f"{self.about} {elsewhere}: {', '.join(left_out)}." if left_out else self.about
        return [self.columns[each] for each in shown], [[row[each] for each in shown] for row in self.rows], about

    def _width(self, left_out: list[str]) -> int:
        """Characters that the table needs without the columns `left_out`; folding columns need few."""
        width = -GAP
        for number, column in enumerate(self.columns):
            if column not in left_out:
                content = max(cell_len(text) for text in (column, *(row[number] for row in self.rows)))
                width += GAP + (min(content, _FOLDED_WIDTH) if column in _FOLDING else content)
        return width


@dataclass(frozen=True)
class Panel:
    """The rows of one table; `groups` best first, and never empty."""

    workload: str
    where: Where
    timed_by: TimedBy
    groups: tuple[Group, ...]

    @property
    def known(self) -> Workload | None:
        """None for a workload that is not installed here."""
        return known_workload(self.workload)

    @property
    def is_foreign(self) -> bool:
        """True for images that the PC times. They are ranked among themselves, and have no answer."""
        return self.timed_by == "pc"

    @property
    def title(self) -> str:
        title = f"{workload_title(self.workload)}: {self.where}"
        return f"{title}, timed by the PC" if self.is_foreign else title


def panels(run: RunFile) -> list[Panel]:
    """The measured panels of each workload: silicon, emulated and hosted."""
    return [
        Panel(name, where, timed_by, tuple(groups))
        for name in dict.fromkeys(row.workload for row in run.rows)
        for where in Where
        for timed_by in get_args(TimedBy)
        if (groups := group_rows(run.rows, name, where, timed_by))
    ]


def tables(run: RunFile) -> list[Table]:
    """The run's tables: silicon, emulated and hosted of each workload, then unmeasured rows. None is empty."""
    missing = not_measured(run)
    measured = [table for panel in panels(run) for table in (panel_table(panel), *matrices(panel))]
    return [*measured, *([missing] if missing.rows else [])]


def markdown(run: RunFile, width: int | None = None) -> str:
    """All tables of the run as Markdown; `width`: the most characters of a table's line, where possible."""
    if not run.rows:
        return "Nothing was run.\n"
    parts = [*(table.markdown(width) for table in tables(run)), paragraphs(not_at_hand(run.rows))]
    return "\n".join(filter(None, parts))


def terminal(run: RunFile, width: int) -> RenderableType:
    """All tables of the run for a rich console of `width` characters. Print it with `crop=False` to keep code whole."""
    if not run.rows:
        return Text("Nothing was run.")
    missing = map(_line, not_at_hand(run.rows))
    return Renderables(*(table.rich(width) for table in tables(run)), *missing)


def paragraphs(below: Iterable[str]) -> str:
    """Return paragraphs of Markdown, with text escaped and code unchanged."""
    return "".join(f"{text if text.startswith(CODE) else escape(text)}\n\n" for text in below).removesuffix("\n")


def _line(paragraph: str) -> Text:
    """A paragraph for the terminal. Code is not wrapped, so that it can be pasted."""
    if paragraph.startswith(CODE):
        return Text(paragraph, style="bold", no_wrap=True, overflow="ignore")
    return Text(paragraph)


def panel_table(panel: Panel) -> Table:
    """The panel as a table."""
    known, where, groups, foreign = panel.known, panel.where, list(panel.groups), panel.is_foreign
    ranks = map(str, count(1))
    ranked = sorted(groups, key=lambda group: not (foreign or is_python(group.first)))
    lines = [
        cells(group, known, next(ranks) if foreign or is_python(group.first) else CEILING_RANK) for group in ranked
    ]
    settings = tuple(dict.fromkeys(setting for group in groups for setting in group.first.settings))
    said = _said_once(lines, (*settings, *_SAID_ONCE))
    about = _ABOUT[where]
    if foreign:
        called = isinstance(known, ForeignServer)
        from_to = f"from one {known.exchange if known else 'exchange'}'s arrival to the next's"
        about = f"{_TIMED_BY_PC[where]}{', which calls them.' if called else f': {from_to}.'}"
    asked = (row.conditions.turnaround_us for group in groups for row in group.rows)
    if times := [value for value in asked if value is not None]:
        about += f" PC turnaround {_range(times)} us."
    drawn = (row.sim.seed for group in groups for row in group.rows if row.sim is not None and row.sim.room)
    if seeds := ", ".join(map(str, sorted({seed for seed in drawn if seed is not None}))):
        about += f" The runs have different jitter, drawn from seed {seeds}."
    if said:
        about += f" All rows: {', '.join(f'{name} {value}' for name, value in said.items())}."
    own = tuple(dict.fromkeys((*(column.title for column in own_columns(known, groups)), *settings)))
    below = () if foreign else (*answer(groups, where), *why(groups), *published_lines(known, groups))
    return _table(panel.title, about, lines, own, below)


def matrices(panel: Panel) -> list[Table]:
    """Arrange the figures as matrices: runtimes down, and values of the setting that the workload names across."""
    known = panel.known
    if known is None or known.across is None:
        return []
    corner = f"runtime \\ {known.across}"
    return [
        Table(
            f"{panel.title}, matrix: {kind}" if kind else f"{panel.title}, matrix",
            f"{known.headline.unit}, medians: runtimes down, {known.across} across.",
            (corner, *columns),
            lines,
        )
        for kind, columns, lines in _crossed(panel.groups, known.across)
    ]


def _crossed(groups: Iterable[Group], setting: str) -> list[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """A matrix for each profile and each choice of the other settings: its title, the columns, and the lines. Leaves
    out those with one value across and down."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    across: dict[str, None] = {}
    for group in groups:
        row = group.first
        others = [f"{name} {value}" for name, value in row.settings.items() if name != setting]
        address = row.conditions.address_mode
        kind = ", ".join(filter(None, (row.profile, *others, address and f"address {address}")))
        value = str(row.settings.get(setting, _NOTHING))
        across[value] = None
        lines = tables.setdefault(kind, {})
        lines.setdefault(row.runtime, {})[value] = figure(group.value.median)
    made = []
    for kind, lines in tables.items():
        columns = sorted(value for value in across if any(value in line for line in lines.values()))
        if len(columns) < 2 and len(lines) < 2:
            continue
        body = tuple((name, *(lines[name].get(value, _NOTHING) for value in columns)) for name in sorted(lines))
        made.append((kind, tuple(columns), body))
    return made


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def _said_once(lines: list[dict[str, str]], columns: Iterable[str]) -> dict[str, str]:
    """Remove those of `columns` with one value in all lines, and return that value: it explains no difference."""
    said = {}
    for column in columns:
        values = {line.get(column, "") for line in lines}
        if len(values) == 1 and values != {""} and (column != "spread" or values == {EXACT}):
            said[column] = values.pop()
            for line in lines:
                del line[column]
    return said


def not_measured(run: RunFile) -> Table:
    """Rows that are not measured, except those without an image. May be empty."""
    rows = [row for row in run.rows if row.status is not Status.MEASURED and row.image_url is None]
    seen: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        key = (row.workload, row.runtime, row.profile or "", row.board or "", row.where, row.status, row.reason or "")
        seen.setdefault(key, []).append(row.run_index)
    columns = ("workload", "runtime", "profile", "board", "where", "status", "reason")
    lines = [{**dict(zip(columns, key, strict=True)), "runs": str(len(indices))} for key, indices in seen.items()]
    return _table("Not measured", "Rows that were skipped, are unsupported, or failed, and why.", lines)


def _table(
    title: str, about: str, lines: list[dict[str, str]], own: tuple[str, ...] = (), below: tuple[str, ...] = ()
) -> Table:
    names = dict.fromkeys(name for line in lines for name in line)
    columns = tuple(column for column in names if any(line.get(column) for line in lines))
    rows = tuple(tuple(line.get(column, "") for column in columns) for line in lines)
    return Table(title, about, columns, rows, own, below)


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, _PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)
