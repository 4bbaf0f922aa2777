"""The shape of a self-check: parts, their findings, one record and one status."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from portbench.errors import PortbenchError
from portbench.files import replace_file
from portbench.results.environment import describe_machine

MISSING: Final = "not had"
"""The outcome of a finding that could not be looked at."""
_ROUNDING: Final = 1e-12
"""Relative tolerance of comparisons: no binary fraction is exactly 1.01."""

Tell = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True)
class Target:
    """The bound of a figure. `near`: at most `tolerance` away from it; a tolerance of None expects nothing."""

    kind: Literal["at least", "below", "near"]
    bound: float
    tolerance: float | None = None

    def met_by(self, value: float) -> bool:
        if self.kind == "near":
            return self.tolerance is None or abs(value - self.bound) <= self.tolerance * (1 + _ROUNDING)
        return value >= self.bound if self.kind == "at least" else value < self.bound


@dataclass(frozen=True)
class Finding:
    """One result: either a figure (`value`), or a verdict (`outcome`), which is counted in its `group`.

    A figure without a value could not be measured; its note says why.
    """

    name: str
    value: float | None = None
    unit: str = ""
    target: Target | None = None
    note: str = ""
    outcome: str = ""
    group: str = ""
    least: float | None = None
    most: float | None = None
    """The range of the values, where a figure was measured under several conditions."""

    @property
    def is_missing(self) -> bool:
        return self.outcome == MISSING if self.outcome else self.value is None

    @property
    def met(self) -> bool | None:
        """True if the target is met, None without a target. A missing figure is near no target."""
        if self.target is None or (self.target.kind == "near" and self.target.tolerance is None):
            return None
        if self.value is None:
            return False if self.target.kind == "near" else None
        return self.target.met_by(self.value)

    @property
    def ratio(self) -> float | None:
        """Value by bound."""
        return None if self.value is None or self.target is None else self.value / self.target.bound


@dataclass(frozen=True)
class Report:
    """The findings of one part. `skipped` says why there are none."""

    part: str
    title: str
    findings: tuple[Finding, ...] = ()
    skipped: str = ""
    faults: tuple[str, ...] = ()
    """A line for each reason to end with status 1."""
    sources: tuple[str, ...] = ()
    """The origin of the part: revisions and images, or a publication and the firmware that it was measured on."""
    notes: tuple[str, ...] = ()
    cases: int | None = None
    """Individual test cases in the findings, where a suite counts them."""

    @property
    def is_measured(self) -> bool:
        return any(not finding.is_missing for finding in self.findings)


class Check(ABC):
    """One of the project's self-checks. It runs part by part, and can be asked for single parts by name."""

    name: str
    """The name of its verb."""
    groups: str = ""
    outcomes: Sequence[str] = ()
    """The outcomes that it counts in `groups`, in the order of its table; a check of figures has none."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.started_utc = datetime.now(UTC)
        self.load_before = os.getloadavg()[0]

    @abstractmethod
    def parts(self) -> Mapping[str, str]:
        """The title of each part by its name."""

    def default_parts(self) -> Sequence[str]:
        return list(self.parts())

    @abstractmethod
    def run(self, part: str) -> Report:
        """Raises PortbenchError where the part cannot be measured at all."""

    def measure(self, part: str) -> Report:
        """Run a part; a part that cannot be measured is reported as skipped."""
        title = self.parts()[part]
        self.tell(f"{part}: {title}")
        try:
            return self.run(part)
        except PortbenchError as error:
            return Report(part, title, skipped=" ".join(str(error).split()))

    def summary(self, reports: Sequence[Report]) -> Iterable[str]:
        """Lines below the table."""
        return ()

    def more(self) -> dict[str, Any]:
        """Results that belong to no part, for the JSON."""
        return {}

    def document(self, reports: Sequence[Report]) -> dict[str, Any]:
        """The reports as JSON."""
        return {
            "check": self.name,
            "started_utc": self.started_utc.isoformat(),
            "machine": describe_machine().model_dump(mode="json"),
            "load_before": self.load_before,
            **self.more(),
            "parts": [_as_json(report) for report in reports],
        }

    def record(self, file: Path, reports: Sequence[Report]) -> None:
        """Write the reports so far; called after each part. Raises OSError and PortbenchError."""
        replace_file(file, json.dumps(self.document(reports), indent=1) + "\n")

    def finish(self, reports: Sequence[Report]) -> None:  # noqa: B027  (most checks need no more)
        """Use the reports of all parts that were asked for. Raises OSError and PortbenchError."""


def _as_json(report: Report) -> dict[str, Any]:
    findings = [asdict(finding) | {"met": finding.met, "ratio": finding.ratio} for finding in report.findings]
    return asdict(report) | {"findings": findings}


def faults(reports: Sequence[Report]) -> list[str]:
    """The reasons to end with status 1: findings that are not as they have to be, and parts that were not measured."""
    found = [fault for report in reports for fault in report.faults]
    missing = [report.part for report in reports if not report.is_measured]
    if missing:
        found.append(f"{len(missing)} of {len(reports)} parts could not be measured: {', '.join(missing)}")
    return found


def last_line(said: str) -> str:
    """The last line of a program's output."""
    lines = said.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def number(value: float) -> str:
    """At least four digits: whole numbers from 1000 on."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def shown(finding: Finding) -> str:
    """The value of a figure, with its range."""
    if finding.value is None:
        return "none"
    if finding.least is None or finding.most is None or number(finding.least) == number(finding.most):
        return number(finding.value)
    return f"{number(finding.value)} ({number(finding.least)} to {number(finding.most)})"
