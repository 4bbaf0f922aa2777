"""The record of what peers' suites said last: as JSON, as the page made from it, and held against a new run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import tabulate
from pydantic import BaseModel, ConfigDict, ValidationError

from portbench.complaint import first_complaint
from portbench.errors import PortbenchError
from portbench.files import replace_file
from portbench.runner.checks.peers.outcome import COLUMNS, SuiteResult, Verdict

RECORD: Final = "peers.json"
PAGE: Final = "peers.md"
_BEGIN: Final = "<!-- made by portbench check peers --record -->"
_END: Final = "<!-- end -->"


class Record(BaseModel):
    """Suites by their names' order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suites: tuple[SuiteResult, ...] = ()

    def get(self, name: str) -> SuiteResult | None:
        return next((each for each in self.suites if each.suite == name), None)

    def with_results(self, results: Iterable[SuiteResult]) -> Record:
        """Of suites that were run, the new results; of all others, and of programs that are not at hand, the old."""
        known = {each.suite: each for each in self.suites}
        for each in results:
            known[each.suite] = _kept(known.get(each.suite), each)
        return Record(suites=tuple(known[name] for name in sorted(known)))


def _kept(then: SuiteResult | None, now: SuiteResult) -> SuiteResult:
    """`now`, with what `then` knew of programs that are not at hand now."""
    before = {} if then is None else {outcome.program: outcome for outcome in then.outcomes}
    outcomes = (before.get(each.program, each) if each.verdict is Verdict.MISSING else each for each in now.outcomes)
    return now.model_copy(update={"outcomes": tuple(outcomes)})


def read(folder: Path) -> Record:
    """The record in `folder`; an empty one where there is none. Raises PortbenchError."""
    path = folder / RECORD
    if not path.exists():
        return Record()
    try:
        return Record.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PortbenchError(f"{path}: cannot be read ({error})") from None
    except ValidationError as error:
        raise PortbenchError(f"{path}: {first_complaint(error)}; restore it, or record again with --record") from None


def write(folder: Path, record: Record) -> None:
    """The record, and its table in the page where that has a place for it. Raises OSError or PortbenchError."""
    replace_file(folder / RECORD, _json(record))
    page = folder / PAGE
    if not page.exists():
        return
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise PortbenchError(f"{page}: has no place for the table; put {_BEGIN} and {_END} where it belongs")
    replace_file(page, f"{before}{_BEGIN}\n\n{markdown(record)}\n{_END}{after}")


def _json(record: Record) -> str:
    """A line a program, so that the history shows which changed."""
    suites = []
    for each in record.suites:
        head = each.model_dump(mode="json", exclude_defaults=True, exclude={"outcomes"})
        lines = ",\n  ".join(outcome.model_dump_json(exclude_defaults=True) for outcome in each.outcomes)
        suites.append(f'{json.dumps(head)[:-1]}, "outcomes": [\n  {lines}\n ]}}')
    return '{"suites": [\n ' + ",\n ".join(suites) + "\n]}\n"


def markdown(record: Record) -> str:
    """The table, the revisions, and what is not right."""
    lines = [[each.title, *(each.count(column) or "" for column in COLUMNS), each.total] for each in record.suites]
    heads = ["suite", *COLUMNS, "programs"]
    align = ["left", *["right"] * (len(heads) - 1)]
    table = tabulate.tabulate(lines, heads, tablefmt="pipe", colalign=align, disable_numparse=True)
    pinned = [
        f"- {each.title}: {', '.join(f'`{source}`' for source in each.sources if '@' in source)}"
        for each in record.suites
        if any("@" in source for source in each.sources)
    ]
    told = [f"- {each.title}: not run: {each.reason}" for each in record.suites if each.reason]
    told += [line for each in record.suites for line in _not_right(each)]
    revisions = ["What was run, at which commit:", "", *pinned, ""] if pinned else []
    return "\n".join([table, "", *revisions, *(told or ["Everything is right."]), ""])


def _not_right(suite: SuiteResult) -> list[str]:
    """A line for what is said, with all of which it is."""
    programs: dict[str, list[str]] = {}
    for each in suite.not_right:
        programs.setdefault(f"{each.verdict}{': ' if each.said else ''}{each.said}", []).append(f"`{each.program}`")
    return [f"- {suite.title}: {', '.join(names)} {said}" for said, names in programs.items()]


def lesser(record: Record, results: Iterable[SuiteResult]) -> list[str]:
    """What is less than the record has, a line each: fewer right, or a program that was right and is not."""
    faults: list[str] = []
    for now in results:
        then = record.get(now.suite)
        if then is None:
            continue
        if now.reason:
            faults.append(f"{now.suite}: could not be run: {now.reason}")
            continue
        right = {outcome.program for outcome in now.outcomes if outcome.verdict is Verdict.RIGHT}
        was = {outcome.program for outcome in then.outcomes if outcome.verdict is Verdict.RIGHT}
        verdicts = {outcome.program: outcome for outcome in now.outcomes}
        for program in sorted(was - right):
            found = verdicts.get(program)
            said = "is not there any more" if found is None else f"is {found.verdict}: {found.said}".rstrip(": ")
            faults.append(f"{now.suite}: {program} was right and {said}")
    return faults
