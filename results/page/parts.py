"""The parts of a page: sections with text, tables and charts, and the names of rows in them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from portbench.results.answer import CODE
from portbench.results.csv_export import plain
from portbench.results.page.drawing import Draw, drawings
from portbench.results.table import Panel

Value = str | float | None


@dataclass(frozen=True)
class Data:
    """A table of numbers and texts, to be read, sorted and saved as CSV or JSON."""

    name: str
    """Base name of its files."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    links: Mapping[Value, str] = field(default_factory=dict)
    """Addresses of cells, by their text."""
    high_first: frozenset[str] = frozenset()
    """The columns whose best is their highest; others are sorted from the lowest."""

    @classmethod
    def of(cls, name: str, rows: Sequence[Mapping[str, Value]]) -> Data:
        """Each row has the same columns, in one order."""
        columns = tuple(rows[0]) if rows else ()
        return cls(slug(name), columns, tuple(tuple(row.values()) for row in rows))

    def cells(self) -> list[list[Cell]]:
        return [[Cell.of(value) for value in row] for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """True for each column of numbers."""
        cells = self.cells()
        return [
            all(row[number].sorts_as or not row[number].text for row in cells) for number in range(len(self.columns))
        ]

    @property
    def csv(self) -> str:
        """Data URL that a browser saves."""
        out = io.StringIO(newline="")
        lines: list[tuple[Value, ...]] = [self.columns, *self.rows]
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([plain(value) if isinstance(value, str) else value for value in row] for row in lines)
        return _address("text/csv", out.getvalue())

    @property
    def json(self) -> str:
        """Data URL that a browser saves."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return _address("application/json", json.dumps(rows, indent=1))


@dataclass(frozen=True)
class Cell:
    """`sorts_as`: the number at its start, empty where there is none."""

    text: str
    sorts_as: str

    @classmethod
    def of(cls, value: Value) -> Cell:
        if value is None or value == "":
            return cls("", "")
        if isinstance(value, str):
            number = re.match(r"-?\d+(\.\d+)?(?![\d.])", value)
            return cls(value, number[0] if number else "")
        return cls(f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}", repr(value))


@dataclass(frozen=True)
class Chart:
    """A drawing for wide and for narrow screens, and the numbers that are in it."""

    title: str
    says: str
    """A description in a sentence or two, for screen readers."""
    wide: str
    narrow: str
    """SVG."""
    data: Data
    legend: tuple[tuple[str, str], ...] = ()
    """A colour and its meaning."""

    @classmethod
    def of(cls, title: str, says: str, draw: Draw, data: Data, legend: tuple[tuple[str, str], ...] = ()) -> Chart:
        """Raises LibraryMissing."""
        wide, narrow = drawings(draw)
        return cls(title, says, wide, narrow, data, legend)


@dataclass(frozen=True)
class Paragraph:
    """`links`: addresses by their words, behind the text."""

    text: str
    is_code: bool = False
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """`table`: shown as it is; the numbers of `charts` are folded away below them."""

    title: str
    paragraphs: tuple[Paragraph, ...] = ()
    table: Data | None = None
    charts: tuple[Chart, ...] = ()
    is_beside: bool = False
    """The words are beside the drawing where there is room, and not below it."""


@dataclass(frozen=True)
class PagePart:
    """The sections under one heading of the second level."""

    title: str
    sections: tuple[Section, ...]

    @property
    def id(self) -> str:
        return slug(self.title)

    def section_id(self, section: Section) -> str:
        return slug(f"{self.title} {section.title}")


def slug(text: str) -> str:
    """Fit for an id or a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _address(kind: str, text: str) -> str:
    return f"data:{kind};charset=utf-8,{quote(text)}"


def names(panel: Panel) -> list[str]:
    """A different name for each row: with its build where two would be alike."""
    plain = [group.first.name for group in panel.groups]
    found: list[str] = []
    for text, group in zip(plain, panel.groups, strict=True):
        if plain.count(text) > 1:
            text = f"{text} ({group.first.build})"
        while text in found:
            text += " again"
        found.append(text)
    return found


def paragraphs(lines: Iterable[str]) -> tuple[Paragraph, ...]:
    """The paragraphs of an answer, in which code begins with four spaces."""
    return tuple(
        Paragraph(line.removeprefix(CODE), is_code=True) if line.startswith(CODE) else Paragraph(line) for line in lines
    )
