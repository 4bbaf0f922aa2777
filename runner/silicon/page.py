"""docs/evidence/silicon.md: the tables of all publications, between a foreword and an afterword written by hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from portbench.files import replace_file
from portbench.results.silicon import FigureSet, NotCompared
from portbench.runner.silicon.compare import LIMITS, Report, halves, number, summary, within

_FOREWORD: Final = Path(__file__).with_name("foreword.md")
_AFTERWORD: Final = Path(__file__).with_name("afterword.md")


def publish(reports: list[Report], not_compared: Iterable[NotCompared], page: Path) -> None:
    """Raises OSError."""
    parts = [_FOREWORD.read_text(encoding="utf-8").strip(), f"**{summary(reports)}.**"]
    parts += [_section(report) for report in reports]
    if entries := list(not_compared):
        parts.append(_not_compared(entries))
    parts.append(_AFTERWORD.read_text(encoding="utf-8").strip())
    replace_file(page, "\n\n".join(parts) + "\n")


def _section(report: Report) -> str:
    publication = report.publication
    head = f"## {publication.id}\n\n{publication.what}. Source: {publication.source}."
    if report.skipped:
        wanted = f"{publication.runtime}'s image" + ("" if publication.method == "row" else " or a script")
        return f"{head}\n\nOn silicon: {_published(publication)}. Not measured: {wanted} was missing."
    lines = [head, f"Silicon: {publication.measured_on}. Emulated: {publication.runtime} ({publication.relation})."]
    limit = LIMITS[publication.relation]
    if limit is not None:
        lines[-1] += f" {within(report.findings)} of {len(report.findings)} are within {limit:.0%}."
    unit = publication.unit
    table = [f"| figure | silicon {unit} | emulated {unit} | ratio |", "|---|---|---|---|"]
    for found in report.findings:
        ratio = "" if found.ratio is None else f"{found.ratio:.3f}"
        if found.met is False:
            ratio = f"**{ratio}**"
        table.append(f"| {found.name} | {number(found.silicon)} | {found.shown} | {ratio} |")
    lines.append("\n".join(table))
    if said := halves(report):
        lines.append(said)
    if notes := [note for note in (publication.note, *report.notes) if note]:
        lines.append(". ".join(note[:1].upper() + note[1:] for note in notes) + ".")
    return "\n\n".join(lines)


def _published(publication: FigureSet) -> str:
    """The figures in one line."""
    return ", ".join(f"{name} {number(value)} {publication.unit}" for name, value in publication.silicon.items())


def _not_compared(entries: list[NotCompared]) -> str:
    lines = ["| figure | silicon | source | cannot be compared, because |", "|---|---|---|---|"]
    lines += [f"| {each.what} | {each.silicon} | {each.source} | {each.because} |" for each in entries]
    return "## Published figures that cannot be compared\n\n" + "\n".join(lines)
