"""A comparison as a comment on a pull request: the verdicts, and why slow rows are slow."""

import re
from collections.abc import Sequence
from typing import Final

from portbench.results.cells import escape, markdown_table
from portbench.results.compare import Comparison
from portbench.results.compare_table import COLUMNS, USUAL_LIMIT, lines
from portbench.results.compare_why import reasons

_ROWS: Final = 10
"""Rows of a comment, if no more of them are slow."""
_CHARACTERS: Final = 60_000  # GitHub takes 65 536


def mark(*names: str) -> str:
    """A comment of HTML by which a later comparison of these names finds the one to replace."""
    told = re.sub(r"[^\w. /=@-]+", "-", " ".join(filter(None, names)))
    return f"<!-- portbench {told} -->"


def comment(comparisons: Sequence[Comparison], limit: float | None, mark: str) -> str:
    """Markdown for GitHub: at most 20 lines if no row is slower than `limit`."""
    allowed = USUAL_LIMIT if limit is None else limit
    ranked = sorted(comparisons, key=lambda each: (not each.is_slower_than(allowed), -each.judged))
    slow = [each for each in ranked if each.is_slower_than(allowed)]
    shown = ranked[: max(_ROWS, len(slow))]
    few = sum(each.too_few for each in comparisons)
    text = f"{mark}\n**portbench: {len(slow)} of {len(ranked)} rows slower by more than {allowed * 100:g} %"
    text += f", and {few} with too few runs to tell" if few else ""
    text += f".**\n\n{markdown_table(COLUMNS, lines(shown, limit))}\n"
    if len(ranked) > len(shown):
        text += f"\nThe summary of the job has {len(ranked) - len(shown)} rows more.\n"
    for reason in reasons(slow[:_ROWS]):
        said = "".join(f"- {escape(sentence)}\n" for sentence in reason.sentences)
        text += f"\nWhy, {escape(reason.row)}:\n\n{said}"
    return text[:_CHARACTERS]
