"""The comparison of emulated figures with published ones."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from portbench.results.silicon import FigureSet, Relation

LIMITS: Final[dict[Relation, float | None]] = {
    "same binary": 0.01,
    "same source": 0.03,
    "other version": 0.04,
    "other conditions": None,
}
"""The largest distance from silicon, as a share. MicroPython's maintainers say that the layout of code moves 4 %."""
_HELD: Final = ("same binary", "same source")
_OF: Final[dict[Relation, str]] = {
    "same binary": "of the same image",
    "same source": "of the same source",
    "other version": "of a neighbouring version",
}
_PROCESSOR: Final = ("script", "perf_bench")
"""Methods whose figures judge the processor and its flash; all others judge the network, an SD card or latency."""
_OUTSIDE_LIMIT: Final = 0.05
_ROUNDING: Final = 1e-12
"""Relative tolerance of comparisons: no binary fraction is exactly 1.01."""


@dataclass(frozen=True)
class Finding:
    """One figure. `value` None: it was not measured. `tolerance` None: any distance from silicon is met."""

    name: str
    silicon: float
    tolerance: float | None
    value: float | None
    note: str

    @property
    def met(self) -> bool | None:
        """True if it is near enough, None where nothing is expected. A figure that was not measured is not near."""
        if self.tolerance is None:
            return None
        return self.value is not None and abs(self.value - self.silicon) <= self.tolerance * (1 + _ROUNDING)

    @property
    def ratio(self) -> float | None:
        return None if self.value is None else self.value / self.silicon

    @property
    def shown(self) -> str:
        return "none" if self.value is None else number(self.value)


@dataclass(frozen=True)
class Report:
    """The figures of a publication, measured again. `skipped` says why there are none."""

    publication: FigureSet
    findings: tuple[Finding, ...] = ()
    skipped: str = ""
    notes: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        """A line for each figure beyond its limit: no other version has to give the same."""
        if self.publication.relation not in _HELD:
            return ()
        beyond = [finding for finding in self.findings if finding.met is not True]
        return tuple(f"{self.publication.id}: {finding.name}: {finding.note}" for finding in beyond)

    @property
    def sources(self) -> tuple[str, ...]:
        """The publication, and the firmware that it was measured on."""
        of = self.publication
        firmware = f"silicon: {of.measured_on}; emulated: {of.runtime} ({of.relation})"
        return tuple(filter(None, (of.source, firmware, of.note)))


def title(publication: FigureSet) -> str:
    return f"{len(publication.silicon)} figures of {publication.measured_on}, {publication.relation}"


def compare(publication: FigureSet, measured: dict[str, float], notes: tuple[str, ...] = ()) -> Report:
    findings = tuple(_finding(publication, name, measured.get(name)) for name in publication.silicon)
    return Report(publication, findings, notes=notes)


def _finding(publication: FigureSet, name: str, value: float | None) -> Finding:
    silicon, limit = publication.silicon[name], LIMITS[publication.relation]
    tolerance = None if limit is None else max(limit * silicon, publication.resolution)
    found = Finding(name, silicon, tolerance, value, "no figure")
    if found.ratio is None:
        return found
    note = f"{found.ratio:.3f} of silicon"
    if limit is not None:
        note += f", {'within' if found.met else 'beyond'} {limit:.0%}"
    return replace(found, note=note)


def within(findings: Iterable[Finding]) -> int:
    return sum(finding.met is True for finding in findings)


def halves(report: Report) -> str:
    """One sentence for the figures that the model was chosen by and for all others; empty without any."""
    publication = report.publication
    chosen = [each for each in report.findings if each.name in publication.chosen_by]
    others = [each for each in report.findings if each.name not in publication.chosen_by]
    limit = LIMITS[publication.relation]
    if not chosen or limit is None:
        return ""
    return (
        f"Of the figures by which the model was chosen {within(chosen)} of {len(chosen)} are within {limit:.0%}, of"
        f" those that had no part in it {within(others)} of {len(others)}."
    )


def summary(reports: Iterable[Report]) -> str:
    """One sentence for each relation, over all publications, and one for all that judge more than the processor."""
    reports = list(reports)
    sentences = []
    for relation, limit in LIMITS.items():
        found = [report.findings for report in reports if report.publication.relation == relation]
        count, kept = sum(map(len, found)), sum(map(within, found))
        if count and limit is not None:
            sentences.append(f"{kept} of {count} figures {_OF[relation]} are within {limit:.0%} of silicon")
    outside = [found for each in reports if each.publication.method not in _PROCESSOR for found in each.findings]
    if outside:
        kept = sum(
            abs(found.ratio - 1) <= _OUTSIDE_LIMIT * (1 + _ROUNDING) for found in outside if found.ratio is not None
        )
        sentences.append(f"{kept} of {len(outside)} figures of network, SD card and latency are within 5% of silicon")
    return "; ".join(sentences)


def faults(reports: Iterable[Report]) -> list[str]:
    """The reasons to end with status 1: figures that have to be silicon's, and publications without a measured one."""
    reports = list(reports)
    found = [fault for report in reports for fault in report.faults]
    missing = [each.publication.id for each in reports if all(figure.value is None for figure in each.findings)]
    if missing:
        found.append(f"{len(missing)} of {len(reports)} parts could not be measured: {', '.join(missing)}")
    return found


def number(value: float) -> str:
    """At least four digits: whole numbers from 1000 on."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
