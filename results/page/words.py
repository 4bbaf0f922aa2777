"""How a page names rows and writes text."""

from __future__ import annotations

from collections.abc import Iterable

from portbench.results.answer import CODE
from portbench.results.page.parts import Paragraph
from portbench.results.stats import Group
from portbench.results.table import Panel
from portbench.shown import shown


def name(group: Group) -> str:
    """`micropython-1.26.0 tuned`."""
    return shown(" ".join(filter(None, (group.first.runtime, group.first.profile))))


def names(panel: Panel) -> list[str]:
    """Of all rows; those that would be alike have their builds, or a number."""
    plain = [name(group) for group in panel.groups]
    found: list[str] = []
    for text, group in zip(plain, panel.groups, strict=True):
        if plain.count(text) > 1:
            text = f"{text} ({shown(group.first.build)})"
        while text in found:
            text += " again"
        found.append(text)
    return found


def paragraphs(lines: Iterable[str]) -> tuple[Paragraph, ...]:
    """Of the answer's lines, in which code begins with four spaces."""
    return tuple(
        Paragraph(shown(line.removeprefix(CODE)), is_code=True) if line.startswith(CODE) else Paragraph(shown(line))
        for line in lines
    )
