"""The reports of a check for a terminal: figures line by line, or outcomes counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from portbench.console import new_table
from portbench.runner.checks.check import Check, Finding, Report, number, shown

_STYLES = {True: "green", False: "bold red", None: ""}


def show(out: Console, check: Check, reports: Sequence[Report]) -> None:
    if check.outcomes:
        out.print(_counts(check, reports))
        _lines(out, [f"{report.part}: skipped: {report.skipped}" for report in reports if report.skipped])
    else:
        for report in reports:
            _part(out, report)
    _lines(out, check.summary(reports))


def _part(out: Console, report: Report) -> None:
    out.print(Text(f"{report.part}: {report.title}", style="bold"))
    for source in report.sources:
        out.print(Text(source))
    if report.skipped:
        out.print(Text(f"skipped: {report.skipped}", style="yellow"), soft_wrap=True)
    else:
        out.print(_figures(report.findings))
        for note in report.notes:
            out.print(Text(note))
    out.print()


def _figures(findings: Sequence[Finding]) -> Table:
    table = _table("figure", "measured", "expected", "note")
    table.columns[0].overflow = table.columns[3].overflow = "fold"
    for finding in findings:
        if finding.value is None:
            measured = Text("skipped", style="yellow")
        else:
            measured = Text(f"{shown(finding)} {finding.unit}".strip(), style=_STYLES[finding.met])
        table.add_row(Text(finding.name), measured, expected(finding), Text(finding.note))
    return table


def expected(finding: Finding) -> str:
    target = finding.target
    if target is None:
        return ""
    kind = "" if target.kind == "near" else f"{target.kind} "
    return f"{kind}{number(target.bound)} {finding.unit}".strip()


def _counts(check: Check, reports: Sequence[Report]) -> Table:
    groups: dict[str, Counter[str]] = {}
    for report in reports:
        for finding in report.findings:
            groups.setdefault(finding.group or report.part, Counter())[finding.outcome] += 1
    table = _table(check.groups, *check.outcomes, "all")
    for group, counts in sorted(groups.items()):
        table.add_row(group, *(str(counts[outcome] or "") for outcome in check.outcomes), str(counts.total()))
    return table


def _table(first: str, *others: str) -> Table:
    return new_table((first, *others), right={*others} - {"note"}, folding=(first, *others))


def _lines(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
