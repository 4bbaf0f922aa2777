"""The table, to be sorted by any of its columns."""

from __future__ import annotations

from portbench.results.page.parts import Data, Paragraph, Section, slug
from portbench.results.table import Panel, panel_table

ORDER = 2


def section(panel: Panel) -> Section | None:
    table = panel_table(panel)
    data = Data(slug(f"{panel.title} rows"), table.columns, table.rows)
    return Section("Table", (Paragraph(table.about),), data)
