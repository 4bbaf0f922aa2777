"""The sections of one table's rows: a file for each drawing, found by listing, in the order of its `ORDER`.

`section(panel)` returns the section, or None where the rows have no data for it.
"""

import importlib
import pkgutil

from portbench.results.answer import more
from portbench.results.page.parts import Data, Paragraph, Section, Value, paragraphs, slug
from portbench.results.table import Panel, panel_table


def sections(panel: Panel) -> list[Section]:
    """The drawings that have data, the table and the settings. Raises LibraryMissing."""
    found = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    found.sort(key=lambda module: module.ORDER)
    first, *rest = (module.section(panel) for module in found)
    return [section for section in (first, _table(panel), *rest, _settings(panel)) if section is not None]


def _settings(panel: Panel) -> Section | None:
    """The rest of the answer, which begins in the first section."""
    lines = [] if panel.is_foreign else more(panel.groups, panel.where)
    return Section("Which settings", paragraphs(lines)) if lines else None


def _table(panel: Panel) -> Section:
    table = panel_table(panel)
    links: dict[Value, str] = {
        row.runtime: row.offers.sources[0].partition(" ")[0].rstrip(":")
        for row in (group.first for group in panel.groups)
        if row.offers is not None and row.offers.sources[0].startswith("https://")
    }
    headline = panel.groups[0].headline
    high_first = frozenset({headline.unit, "silicon", "ratio"} if headline.better == "higher" else ())
    data = Data(slug(f"{panel.title} rows"), table.columns, table.rows, links, high_first)
    return Section("All figures", (Paragraph(table.about),), data)
