"""The reports for a terminal, figure by figure."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from portbench.console import new_table
from portbench.runner.silicon.compare import Report, halves, number, summary

_STYLES = {True: "green", False: "bold red", None: ""}


def show(out: Console, reports: Sequence[Report]) -> None:
    for report in reports:
        out.print(Text(f"{report.publication.id}: {report.publication.what}", style="bold"))
        if report.skipped:
            out.print(Text(f"skipped: {report.skipped}", style="yellow"), soft_wrap=True)
        else:
            for line in report.sources:
                out.print(Text(line))
            out.print(_figures(report))
            for line in report.notes:
                out.print(Text(line))
        out.print()
    said = [f"{report.publication.id}: {each}" for report in reports if (each := halves(report))]
    for line in filter(None, (*said, summary(reports))):
        out.print(line, markup=False, soft_wrap=True)


def _figures(report: Report) -> Table:
    columns = ("figure", "measured", "expected", "note")
    table = new_table(columns, right=("measured", "expected"), folding=columns)
    unit = report.publication.unit
    for finding in report.findings:
        if finding.value is None:
            measured = Text("skipped", style="yellow")
        else:
            measured = Text(f"{finding.shown} {unit}".strip(), style=_STYLES[finding.met])
        expected = f"{number(finding.silicon)} {unit}".strip()
        table.add_row(Text(finding.name), measured, expected, Text(finding.note))
    return table
