"""A comparison for people: the same cells for a terminal and, as Markdown, for a page or the summary of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tabulate

from portbench.results import compare_why
from portbench.results.cells import figure
from portbench.results.compare import Basis, Comparison
from portbench.shown import shown

COLUMNS = ("row", "A", "B", "unit", "time", "interval", "by", "verdict")


def lines(compared: Sequence[Comparison], limit: float | None) -> list[tuple[str, ...]]:
    """A line for each row; `limit`: the share by which it may be slower."""
    return [tuple(map(shown, _line(each, limit))) for each in compared]


def markdown(compared: Sequence[Comparison], limit: float | None) -> str:
    """As GitHub shows it."""
    cells = [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in line] for line in lines(compared, limit)]
    text = tabulate.tabulate(cells, COLUMNS, tablefmt="pipe", disable_numparse=True) + "\n"
    for reason in compare_why.reasons(compared):
        said = "".join(f"- {sentence}\n" for sentence in reason.sentences)
        table = tabulate.tabulate(reason.lines, compare_why.COLUMNS, tablefmt="pipe", disable_numparse=True)
        text += f"\nWhy, {shown(reason.row)}:\n\n{said}\n{table}\n"
    return text


def as_data(compared: Sequence[Comparison], limit: float | None) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "workload": each.before.first.workload,
            "where": str(each.before.first.where),
            "board": each.before.first.board,
            "profile": each.before.first.profile,
            "runtime": [each.before.first.runtime, each.after.first.runtime],
            "image_sha256": [each.before.first.image_sha256, each.after.first.image_sha256],
            "figure": each.before.headline.name,
            "values": [[row.value for row in group.rows] for group in (each.before, each.after)],
            "slower": each.slower,
            "interval": [each.low, each.high],
            "basis": str(each.basis),
            "p": each.p,
            "differs": each.differs,
            "too_slow": limit is not None and each.is_slower_than(limit),
            "why": None if (found := compare_why.why(each)) is None else found.as_data(),
        }
        for each in compared
    ]


def share(value: float) -> str:
    """`+4.2 %`; so many digits that a difference never looks like none."""
    if value == 0:
        return "0"
    digits = next((digits for digits in (1, 2, 3, 4, 5) if float(f"{value * 100:.{digits}f}")), 9)
    return f"{value * 100:+.{digits}f} %"


def _line(each: Comparison, limit: float | None) -> tuple[str, ...]:
    before, after = each.before.first, each.after.first
    named = before.runtime if before.runtime == after.runtime else f"{before.runtime} -> {after.runtime}"
    row = " ".join(filter(None, (named, before.profile, before.workload)))
    exact = each.basis is Basis.EXACT or each.low == each.high
    return (
        row,
        figure(each.before.value.median),
        figure(each.after.value.median),
        each.before.headline.unit,
        share(each.slower),
        "exact" if exact else f"{share(each.low)} to {share(each.high)}",
        str(each.basis) if each.p is None else f"{each.basis}, p = {each.p:.3g}",
        _verdict(each, limit),
    )


def _verdict(each: Comparison, limit: float | None) -> str:
    if limit is not None and each.is_slower_than(limit):
        return f"SLOWER than {limit * 100:g}% allows"
    if each.too_few:
        return "too few runs to tell: 4 of each at least"
    if not each.differs:
        return "the same" if each.slower == 0 else "no difference beyond chance"
    return "slower" if each.slower > 0 else "faster"
