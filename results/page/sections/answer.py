"""The answer in words."""

from __future__ import annotations

from portbench.results.answer import answer
from portbench.results.page.parts import Section
from portbench.results.page.words import paragraphs
from portbench.results.table import Panel

ORDER = 1


def section(panel: Panel) -> Section | None:
    lines = [] if panel.is_foreign else answer(panel.groups, panel.where)
    return Section("Answer", paragraphs(lines)) if lines else None
