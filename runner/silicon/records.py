"""Reports as JSON, and read from it again."""

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from portbench.errors import PortbenchError
from portbench.results.environment import describe_machine
from portbench.results.silicon import FigureSet
from portbench.runner.silicon.compare import Finding, Report, compare


def beginning() -> dict[str, Any]:
    """The begin of the JSON of a check that begins now."""
    return {"check": "silicon", "started_utc": datetime.now(UTC).isoformat(), "load_before": os.getloadavg()[0]}


def as_json(begin: dict[str, Any], reports: Iterable[Report]) -> str:
    document = begin | {
        "machine": describe_machine().model_dump(mode="json"),
        "parts": [_part(report) for report in reports],
    }
    return json.dumps(document, indent=1)


def _part(report: Report) -> dict[str, Any]:
    return {
        "part": report.publication.id,
        "title": report.publication.what,
        "findings": [_figure(report.publication, finding) for finding in report.findings],
        "skipped": report.skipped,
        "faults": report.faults,
        "sources": report.sources,
        "notes": report.notes,
    }


def _figure(publication: FigureSet, finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "value": finding.value,
        "unit": publication.unit,
        "target": {"kind": "near", "bound": finding.silicon, "tolerance": finding.tolerance},
        "note": finding.note,
        "met": finding.met,
        "ratio": finding.ratio,
    }


class Recorded:
    """Reports of recorded checks; of a publication in several records the last one counts."""

    def __init__(self, files: Iterable[Path], publications: Mapping[str, FigureSet]) -> None:
        """Raises PortbenchError and OSError."""
        self._reports: dict[str, Report] = {}
        for path in files:
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                for part in document["parts"]:
                    if (publication := publications.get(part["part"])) is not None:
                        self._reports[publication.id] = _report(part, publication)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise PortbenchError(
                    f"{path}: is not a record of check silicon ({error!r}); make one:"
                    " portbench check silicon --record FILE"
                ) from None

    def measure(self, publication: FigureSet) -> Report:
        """The report that is recorded. Raises PortbenchError."""
        part = publication.id
        if part not in self._reports:
            raise PortbenchError(
                f"no record has {part}; measure it: portbench check silicon --part {part} --record FILE"
            )
        return self._reports[part]


def _report(part: dict[str, Any], publication: FigureSet) -> Report:
    """A recorded part, compared with today's publication. Raises KeyError and the like."""
    if part["skipped"]:
        return Report(publication, skipped=str(part["skipped"]))
    found = part["findings"]
    measured = {str(each["name"]): float(each["value"]) for each in found if each["value"] is not None}
    return compare(publication, measured, tuple(map(str, part["notes"])))
