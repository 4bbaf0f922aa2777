"""What the page says of one table's rows: a file for each section, found by listing, in the order of its `ORDER`.

`section(panel)` gives the section, or None where the rows hold nothing for it.
"""

from __future__ import annotations

import importlib
import pkgutil

from portbench.results.page.parts import Section
from portbench.results.table import Panel


def sections(panel: Panel) -> list[Section]:
    """All that have something to say. Raises LibraryMissing."""
    found = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    found.sort(key=lambda module: module.ORDER)
    made = [module.section(panel) for module in found]
    return [section for section in made if section is not None]
