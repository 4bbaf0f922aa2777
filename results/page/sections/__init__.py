"""The sections of one table's rows: a file for each drawing, found by listing, in the order of its `ORDER`.

`section(panel)` returns the section, or None where the rows have no data for it.
"""

from __future__ import annotations

import importlib
import pkgutil

from portbench.results.answer import answer
from portbench.results.page.parts import Data, Paragraph, Section, paragraphs, slug
from portbench.results.table import Panel, panel_table


def sections(panel: Panel) -> list[Section]:
    """The answer, the table, and all drawings that have data. Raises LibraryMissing."""
    found = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    found.sort(key=lambda module: module.ORDER)
    made = [_answer(panel), _table(panel), *(module.section(panel) for module in found)]
    return [section for section in made if section is not None]


def _answer(panel: Panel) -> Section | None:
    lines = [] if panel.is_foreign else answer(panel.groups, panel.where)
    return Section("Answer", paragraphs(lines)) if lines else None


def _table(panel: Panel) -> Section:
    table = panel_table(panel)
    data = Data(slug(f"{panel.title} rows"), table.columns, table.rows)
    return Section("Table", (Paragraph(table.about),), data)
