"""The comparison of emulated figures with published ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from portbench.results.silicon import FigureSet, Relation
from portbench.runner.checks.check import Finding, Report, Target, number

LIMITS: Final[dict[Relation, float | None]] = {"same binary": 0.01, "other version": 0.04, "other conditions": None}
"""The largest distance from silicon, as a share. MicroPython's maintainers say that the layout of code moves 4 %."""

Pair = tuple[FigureSet, Report]
"""A publication, and the report of its figures measured again."""


def title(publication: FigureSet) -> str:
    return f"{len(publication.silicon)} figures of {publication.measured_on}, {publication.relation}"


def compare(publication: FigureSet, measured: dict[str, list[float]], notes: tuple[str, ...] = ()) -> Report:
    """`measured` has by name one value, or the least, the middle and the largest."""
    findings = tuple(_finding(publication, name, measured.get(name, [])) for name in publication.silicon)
    faults: tuple[str, ...] = ()
    if publication.relation == "same binary":  # only the same binary has to give the same figures
        beyond = [finding for finding in findings if finding.met is not True]
        faults = tuple(f"{publication.id}: {finding.name}: {finding.note}" for finding in beyond)
    return Report(
        publication.id,
        publication.what,
        findings,
        faults=faults,
        sources=tuple(
            filter(
                None,
                [
                    publication.source,
                    f"silicon: {publication.measured_on}; emulated: {publication.runtime} ({publication.relation})",
                    publication.note,
                ],
            )
        ),
        notes=notes,
    )


def _finding(publication: FigureSet, name: str, values: list[float]) -> Finding:
    silicon, limit = publication.silicon[name], LIMITS[publication.relation]
    tolerance = None if limit is None else max(limit * silicon, publication.resolution)
    middle = values[len(values) // 2] if values else None
    note = "no figure" if middle is None else f"{middle / silicon:.3f} of silicon"
    if limit is not None and middle is not None:
        target = Target("near", silicon, tolerance)
        note += f", {'within' if target.met_by(middle) else 'beyond'} {limit:.0%}"
    return Finding(
        name,
        middle,
        publication.unit,
        Target("near", silicon, tolerance),
        note,
        least=values[0] if len(values) > 1 else None,
        most=values[-1] if len(values) > 1 else None,
    )


def within(findings: Iterable[Finding]) -> int:
    return sum(finding.met is True for finding in findings)


def halves(publication: FigureSet, findings: Iterable[Finding]) -> str:
    """One sentence for the figures that the model was chosen by and for all others; empty without any."""
    findings = list(findings)
    chosen = [each for each in findings if each.name in publication.chosen_by]
    others = [each for each in findings if each.name not in publication.chosen_by]
    limit = LIMITS[publication.relation]
    if not chosen or limit is None:
        return ""
    return (
        f"Of the figures by which the model was chosen {within(chosen)} of {len(chosen)} are within {limit:.0%}, of"
        f" those that had no part in it {within(others)} of {len(others)}."
    )


def summary(pairs: Iterable[Pair]) -> str:
    """One sentence for each relation, over all publications."""
    pairs = list(pairs)
    sentences = []
    for relation, limit in LIMITS.items():
        found = [report.findings for publication, report in pairs if publication.relation == relation]
        count, kept = sum(map(len, found)), sum(map(within, found))
        if count and limit is not None:
            what = {"same binary": "of the same image", "other version": "of a neighbouring version"}[relation]
            sentences.append(f"{kept} of {count} figures {what} are within {limit:.0%} of silicon")
    return "; ".join(sentences)


def from_json(part: dict[str, Any], publication: FigureSet) -> Report:
    """A recorded part, compared with today's publication. Raises KeyError and the like."""
    if part["skipped"]:
        return Report(publication.id, publication.what, skipped=str(part["skipped"]))
    measured: dict[str, list[float]] = {}
    for found in part["findings"]:
        values = [found[key] for key in ("least", "value", "most") if found[key] is not None]
        measured[str(found["name"])] = [float(value) for value in values]
    return compare(publication, measured, tuple(map(str, part["notes"])))


def silicon(publication: FigureSet) -> str:
    """The published figures in one line."""
    return ", ".join(f"{name} {number(value)} {publication.unit}" for name, value in publication.silicon.items())
