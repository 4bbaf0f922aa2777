"""What a person reads of a validation: a table for each set, and the sentence that sums it up."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from portbench.runner.checks.silicon.verdict import Compared, Outcome, summary

_STYLES = {True: "green", False: "bold red", None: ""}
_WORDS = {True: "within", False: "beyond", None: ""}


def tables(outcomes: list[Outcome]) -> RenderableType:
    """For a terminal of 80 columns."""
    return Group(*_parts(outcomes))


def _parts(outcomes: list[Outcome]) -> Iterator[RenderableType]:
    for outcome in outcomes:
        each = outcome.figures_of
        yield Text(each.id, style="bold")
        yield Text(f"{each.what}\n{each.source}")
        if outcome.missing is not None:
            yield Text(f"skipped: {outcome.missing}\n", style="yellow")
            continue
        yield Text(f"silicon: {each.measured_on}; emulated: {each.runtime} ({each.relation})")
        yield _table(outcome)
        for note in (outcome.halves(), each.note, *outcome.notes):
            if note:
                yield Text(note)
        yield Text("")
    if said := summary(outcomes):
        yield Text(said, style="bold")


def _table(outcome: Outcome) -> Table:
    unit = outcome.figures_of.unit
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    shown.add_column("figure", overflow="fold")
    for name in (f"silicon {unit}", f"emulated {unit}", "ratio"):
        shown.add_column(name, justify="right", no_wrap=True)
    if outcome.limit is not None:
        shown.add_column(f"{outcome.limit:.0%}")
    for found in outcome.compared:
        kept = found.within(outcome.limit)
        cells = [found.name, number(found.silicon), emulated(found), ratio(found)]
        if outcome.limit is not None:
            cells.append(_WORDS[kept])
        shown.add_row(*(Text(cell, style=_STYLES[kept] if at >= 3 else "") for at, cell in enumerate(cells)))
    return shown


def number(value: float) -> str:
    """As many digits as are published: whole from 1000 on, else four."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def emulated(found: Compared) -> str:
    if found.emulated is None:
        return "none"
    if found.least is None or found.most is None or number(found.least) == number(found.most):
        return number(found.emulated)
    return f"{number(found.emulated)} ({number(found.least)} to {number(found.most)})"


def ratio(found: Compared) -> str:
    return "" if found.ratio is None else f"{found.ratio:.3f}"
