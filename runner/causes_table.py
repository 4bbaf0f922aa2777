"""What time went to, as a table with a bar for each group of causes."""

from __future__ import annotations

from typing import Final

from rich.table import Table

from portbench.console import new_table
from portbench.results.attribution import CAUSES, GROUPS, Span

_BAR: Final = 20
_TITLE: Final = 36
_SHOWN: Final = 0.0005
"""Smaller parts are in `--json`."""
_PS_PER_US: Final = 1e6
_MILLISECONDS_FROM_US: Final = 1e6


def causes_table(span: Span, spans: int, title: str) -> Table:
    """Of an average of so many spans."""
    total_us = span.duration_ps / spans / _PS_PER_US
    unit, size = ("ms", 1e3) if total_us >= _MILLISECONDS_FROM_US else ("us", 1.0)

    def amount(ps: int) -> str:
        return f"{ps / spans / _PS_PER_US / size:.2f}"

    def percent(share: float) -> str:
        return f"{100 * share:.1f} %"

    table = new_table(("cause", unit, "share", ""), title=title, right=(unit, "share"), folding=("cause",))
    table.columns[0].width, table.columns[-1].width = _TITLE, _BAR
    for group in GROUPS.values():
        causes = [cause for cause in CAUSES.values() if cause.group == group.name and span.ps(cause.name)]
        if not causes:
            continue
        share = span.share(group.name)
        table.add_row(group.title, amount(span.ps(group.name)), percent(share), "#" * round(_BAR * share))
        for cause in causes:
            if cause.title != group.title and span.share(cause.name) >= _SHOWN:
                part = percent(span.share(cause.name))
                table.add_row(f"  {cause.title}", amount(span.ps(cause.name)), part, "", style="dim")
    table.add_section()
    table.add_row("all", amount(span.duration_ps), percent(1.0), f"{percent(span.named_share)} named")
    return table
