"""The last record of peers' suites: as JSON, as the page made from it, and as the bar for a new run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import tabulate
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from portbench.errors import PortbenchError, first_complaint
from portbench.files import replace_file
from portbench.runner.checks.check import Report
from portbench.runner.checks.peers.suite import Verdict, judged

_BEGIN: Final = "<!-- made by portbench check peers --record -->"
_END: Final = "<!-- end -->"

Record = dict[str, Report]
"""Reports by the names of their suites, in order."""
_Name = Annotated[str, Field(min_length=1)]


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Program(_Stored):
    program: _Name
    verdict: Verdict
    said: str = ""


class _Suite(_Stored):
    suite: _Name
    title: _Name
    sources: tuple[_Name, ...] = ()
    outcomes: tuple[_Program, ...] = ()
    cases: int | None = None

    def report(self) -> Report:
        findings = tuple(judged(each.program, each.verdict, each.said) for each in self.outcomes)
        return Report(self.suite, self.title, findings, sources=self.sources, cases=self.cases)


class _Document(_Stored):
    suites: tuple[_Suite, ...]


def read(file: Path) -> Record:
    """An empty record where there is no file. Raises PortbenchError."""
    if not file.exists():
        return {}
    try:
        suites = _Document.model_validate_json(file.read_text(encoding="utf-8")).suites
    except (OSError, UnicodeDecodeError) as error:
        raise PortbenchError(f"{file}: cannot be read ({error})") from None
    except ValidationError as error:
        raise PortbenchError(f"{file}: {first_complaint(error)}; restore it, or record again with --record") from None
    return {each.suite: each.report() for each in suites}


def merged(record: Mapping[str, Report], reports: Iterable[Report]) -> Record:
    """The new reports of suites that were run; the old ones of all others, and of programs that are not at hand."""
    known = dict(record)
    for now in reports:
        if not now.skipped:
            known[now.part] = _kept(record.get(now.part), now)
    return {name: known[name] for name in sorted(known)}


def _kept(then: Report | None, now: Report) -> Report:
    before = {} if then is None else {finding.name: finding for finding in then.findings}
    findings = (before.get(each.name, each) if each.is_missing else each for each in now.findings)
    return replace(now, findings=tuple(findings))


def write(file: Path, record: Mapping[str, Report]) -> None:
    """Write the record, and its table into the page beside it where there is one. Raises OSError or PortbenchError."""
    replace_file(file, _text(record))
    page = file.with_suffix(".md")
    if not page.exists():
        return
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise PortbenchError(f"{page}: has no place for the table; put {_BEGIN} and {_END} where it belongs")
    replace_file(page, f"{before}{_BEGIN}\n\n{markdown(record)}\n{_END}{after}")


def _text(record: Mapping[str, Report]) -> str:
    """JSON with a line for each program, so that the history shows the ones that changed."""
    suites = []
    for report in record.values():
        head: dict[str, Any] = {"suite": report.part, "title": report.title}
        head |= {"sources": list(report.sources)} if report.sources else {}
        head |= {"cases": report.cases} if report.cases is not None else {}
        programs = [
            {"program": each.name, "verdict": each.outcome} | ({"said": each.note} if each.note else {})
            for each in report.findings
        ]
        lines = ",\n  ".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in programs)
        suites.append(f'{json.dumps(head)[:-1]}, "outcomes": [\n  {lines}\n ]}}')
    return '{"suites": [\n ' + ",\n ".join(suites) + "\n]}\n"


def markdown(record: Mapping[str, Report]) -> str:
    """The table, the revisions, and the programs that are not right."""
    reports = list(record.values())
    lines = [
        [each.title, *(_count(each, verdict) or "" for verdict in Verdict), len(each.findings)] for each in reports
    ]
    heads = ["suite", *Verdict, "programs"]
    align = ["left", *["right"] * (len(heads) - 1)]
    table = tabulate.tabulate(lines, heads, tablefmt="pipe", colalign=align, disable_numparse=True)
    pinned = [
        f"- {each.title}: {', '.join(f'`{source}`' for source in each.sources if '@' in source)}"
        for each in reports
        if any("@" in source for source in each.sources)
    ]
    told = [line for each in reports for line in _not_right(each)]
    revisions = ["Commits that were run:", "", *pinned, ""] if pinned else []
    return "\n".join([table, "", *revisions, *(told or ["Everything is right."]), ""])


def _count(report: Report, verdict: Verdict) -> int:
    return sum(finding.outcome == verdict for finding in report.findings)


def _not_right(report: Report) -> list[str]:
    """A line for each verdict and its reason, with all programs that it applies to."""
    programs: dict[str, list[str]] = {}
    for each in report.findings:
        if each.outcome != Verdict.RIGHT:
            programs.setdefault(": ".join(filter(None, (each.outcome, each.note))), []).append(f"`{each.name}`")
    return [f"- {report.title}: {', '.join(names)} {said}" for said, names in programs.items()]


def lesser(then: Report | None, now: Report) -> tuple[str, ...]:
    """A line for each program that was right in the record and is not right now."""
    if then is None:
        return ()
    found = {finding.name: finding for finding in now.findings}
    lines = []
    for program in sorted(each.name for each in then.findings if each.outcome == Verdict.RIGHT):
        finding = found.get(program)
        if finding is None:
            lines.append(f"{now.part}: {program} was right and is not there any more")
        elif finding.outcome != Verdict.RIGHT:
            said = ": ".join(filter(None, (finding.outcome, finding.note)))
            lines.append(f"{now.part}: {program} was right and is {said}")
    return tuple(lines)
