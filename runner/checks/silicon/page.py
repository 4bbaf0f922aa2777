"""docs/evidence/silicon.md: the tables of a validation, between what is said by hand of how the figures came to be."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.files import replace_file
from portbench.results.silicon import NotCompared
from portbench.runner.checks.silicon.table import emulated, number, ratio
from portbench.runner.checks.silicon.turnaround import Distribution
from portbench.runner.checks.silicon.verdict import Outcome, summary

PAGE: Final = Path("docs/evidence/silicon.md")
_FOREWORD: Final = Path(__file__).with_name("foreword.md")
_AFTERWORD: Final = Path(__file__).with_name("afterword.md")


def publish(
    outcomes: list[Outcome], turnarounds: dict[str, Distribution], not_compared: list[NotCompared], page: Path
) -> None:
    """Raises OSError."""
    parts = [_FOREWORD.read_text(encoding="utf-8").strip(), f"**{summary(outcomes)}.**"]
    parts += [_set(outcome) for outcome in outcomes]
    if not_compared:
        parts.append(_not_compared(not_compared))
    parts += [_turnaround(name, spread) for name, spread in turnarounds.items()]
    parts.append(_AFTERWORD.read_text(encoding="utf-8").strip())
    replace_file(page, "\n\n".join(parts) + "\n")


def _set(outcome: Outcome) -> str:
    each = outcome.figures_of
    head = f"## {each.id}\n\n{each.what}. Source: {each.source}."
    if outcome.missing is not None:
        wanted = f"{each.runtime}'s image" if each.method == "row" else f"{each.runtime}'s image and the scripts"
        return f"{head}\n\nOn silicon: {_silicon(outcome)}. Not measured: {wanted} could not be had."
    lines = [head, f"Silicon: {each.measured_on}. Emulated: {each.runtime} ({each.relation})."]
    limit = outcome.limit
    if limit is not None:
        lines[-1] += f" {outcome.within} of {len(outcome.compared)} are within {limit:.0%}."
    table = [f"| figure | silicon {each.unit} | emulated {each.unit} | ratio |", "|---|---|---|---|"]
    for found in outcome.compared:
        beyond = found.within(limit) is False
        shown = f"**{ratio(found)}**" if beyond else ratio(found)
        table.append(f"| {found.name} | {number(found.silicon)} | {emulated(found)} | {shown} |")
    lines.append("\n".join(table))
    if halves := outcome.halves():
        lines.append(halves)
    notes = [note for note in (each.note, *outcome.notes) if note]
    if notes:
        lines.append(". ".join(note[:1].upper() + note[1:] for note in notes) + ".")
    return "\n\n".join(lines)


def _not_compared(entries: list[NotCompared]) -> str:
    lines = ["| figure | silicon | source | cannot be compared, because |", "|---|---|---|---|"]
    lines += [f"| {each.what} | {each.silicon} | {each.source} | {each.because} |" for each in entries]
    return "## What was published and cannot be compared\n\n" + "\n".join(lines)


def _silicon(outcome: Outcome) -> str:
    each = outcome.figures_of
    return ", ".join(f"{name} {number(value)} {each.unit}" for name, value in each.silicon.items())


def _turnaround(name: str, spread: Distribution) -> str:
    return (
        f"The PC that measured this answers {name} in {spread.median_us:.0f} us ({spread.p10_us:.0f} to"
        f" {spread.p90_us:.0f} us, a tenth below and above) over its loopback, {spread.count} round trips: its kernel,"
        " its wake-ups and the server are in it, a network adapter is not."
    )
