"""The cells of tables as text, the same for a terminal and for a page, and tables in Markdown."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from typing import Final

import tabulate

from portbench.errors import PortbenchError
from portbench.results.model import Published, Row
from portbench.results.published import nearest
from portbench.results.stats import Group, known_workload
from portbench.workloads import Column, Workload

EXACT: Final = "exact"
"""Replaces the spread of rows that every run repeats."""
CEILING_RANK: Final = "-"
"""The rank of a row without Python: it has none."""


def workload_title(name: str) -> str:
    """The title of the workload; its name where it is not installed here."""
    known = known_workload(name)
    return known.title if known else name


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A table for GitHub, with the columns of `right` right-aligned."""
    head, *lines = (list(map(escape, row)) for row in (columns, *rows))
    align = ["right" if column in right else "left" for column in columns]
    return tabulate.tabulate(lines, head, tablefmt="pipe", colalign=align, disable_numparse=True)


def escape(text: str) -> str:
    """Text for Markdown that does not end its cell, and is not HTML, link or emphasis."""
    return re.sub(r"[\\|\[\]*]", r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))


def own_columns(known: Workload | None, groups: list[Group]) -> tuple[Column, ...]:
    """The columns of the workload; of an unknown one, all figures."""
    if known is not None:
        return known.columns
    names = dict.fromkeys(name for group in groups for name in group.first.figures)
    return tuple(Column(name, name) for name in names if groups[0].headline.name != name and name != "ready_us")


def cells(group: Group, known: Workload | None, rank: str) -> dict[str, str]:
    """The cells of a group by column, the most useful first."""
    row = group.first
    silicon, ratio = beside(group, known)
    ready_us = group.figure("ready_us")
    return {
        "rank": rank,
        "runtime": row.runtime,
        "profile": row.profile or "",
        group.headline.unit: figure(group.value.median),
        "spread": spread(group),
        "silicon": silicon,
        "ratio": ratio,
        "INTn": "" if row.conditions.intn is None else "yes" if row.conditions.intn else "no",
        "SPI MHz asked -> real": _spi(row),
        **{column.title: _cell(column, group) for column in own_columns(known, [group])},
        "ready ms": "" if ready_us is None else f"{ready_us / 1000:.0f}",
        "version": "" if row.version in row.runtime else row.version,
        "build": row.build if row.build != row.image_file else "",
        "board": row.board or "",
        "address": row.conditions.address_mode or "",
        **{name: str(value) for name, value in row.settings.items()},
        "runs": str(group.value.n),
        "notes": "; ".join(_notes(group)),
    }


def spread(group: Group) -> str:
    """Spread of the runs as a share of their median; empty where they are equal or there is one run."""
    if not group.value.spread and not group.unstable:
        return EXACT if all(row.is_exact for row in group.rows) else ""
    return f"{group.value.spread:.1%}{' unstable' if group.unstable else ''}"


def beside(group: Group, known: Workload | None) -> tuple[str, str]:
    """The published figure of silicon, and the measured figure as a multiple of it.

    Without a published figure of this firmware: that of the newest of its family and profile, with its version.
    """
    if published := group.publication:
        return stated(published), _ratio(group, published)
    if known is not None:
        with contextlib.suppress(PortbenchError):
            if near := nearest(known, group.first):
                firmware, published = near
                return f"{stated(published)} ({firmware.version})", _ratio(group, published)
    return "", ""


def stated(published: Published) -> str:
    """The published figure, rounded as in its source."""
    return figure(published.median) if published.stated is None else f"{published.stated:g}"


def figure(value: float) -> str:
    """Four significant digits at least, never in exponent form."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.3g}"


def _ratio(group: Group, published: Published) -> str:
    ratio = group.ratio_to(published)
    return "" if ratio is None else f"{ratio:.2f}"


def _cell(column: Column, group: Group) -> str:
    if column.statistic is None:
        value = group.figure(column.of)
    else:
        summary = group.sample(column.of)
        value = None if summary is None else getattr(summary, column.statistic)
    return "" if value is None else figure(value * column.scale)


def _notes(group: Group) -> Iterable[str]:
    if group.unstable:
        yield f"unstable: {', '.join(group.unstable)}"
    yield from sorted({row.note for row in group.rows if row.note})


def _spi(row: Row) -> str:
    asked, actual = row.conditions.spi_hz_asked, row.conditions.spi_hz_actual
    if asked is None and actual is None:
        return ""
    return f"{'default' if asked is None else _mhz(asked)} -> {'?' if actual is None else _mhz(actual)}"


def _mhz(hertz: int) -> str:
    return f"{hertz / 1e6:.4g}"
