"""Why each row of a table takes as long as it does, in the words that `portbench explain` has for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from portbench.results.explain import explained
from portbench.results.stats import Group

_MOST: Final = 2
"""Sentences of a row: what explains most of its figure. `portbench explain` has them all."""


def why(groups: Sequence[Group]) -> list[str]:
    """A line for each group with a run whose time was attributed and of which a rule has something to say."""
    lines = []
    for group in groups:
        row = next((row for row in group.rows if row.attribution is not None), None)
        if row is None:
            continue
        said = [sentence.text for sentence in explained(row) if sentence.share is not None][:_MOST]
        if said:
            named = " ".join(filter(None, (row.runtime, row.profile)))
            lines.append(f"Why, {named}: {'; '.join(said)}.")
    return lines
