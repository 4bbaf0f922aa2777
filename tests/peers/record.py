"""The record of other projects' suites: as JSON, as the page made from it, and as the bar for a new run."""

import json
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import tabulate
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from portbench.files import replace_file

FILE: Final = Path(__file__).parents[2] / "docs" / "evidence" / "peers.json"
"""The project's record."""
_BEGIN: Final = "<!-- made by pytest tests/peers --peers-record -->"
_END: Final = "<!-- end -->"


class Verdict(StrEnum):
    """The outcome of a program; docs/evidence/peers.md says what each means."""

    RIGHT = "right"
    WRONG = "wrong"
    WIRE = "needs a wire"
    PART = "needs a part"
    BUILD = "other build"
    REFUSED = "refused"
    MISSING = "not had"


@dataclass(frozen=True)
class Outcome:
    """`said`: one line that says why the program is not right."""

    program: str
    verdict: Verdict
    said: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.verdict, self.said)))


@dataclass(frozen=True)
class Suite:
    """`sources`: everything that was run, each pinned as `repository@commit` or `file sha256`.

    `cases`: individual test cases in the programs, where a suite counts them. `programs`: the names of all its
    programs, in order, where `outcomes` has those of some.
    """

    suite: str
    title: str
    sources: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    cases: int | None = None
    programs: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.programs or tuple(each.program for each in self.outcomes)


SUITE: Final = TypeAdapter(Suite)
_DOCUMENT: Final = TypeAdapter(dict[str, tuple[Suite, ...]])
Record = dict[str, Suite]
"""By the names of the suites, in order."""


def failed(program: str, error: Exception) -> Outcome:
    """The outcome of a program that an error ended: refused where the emulator said that it does not model a thing."""
    said = str(error).partition("\n")[0]
    refused = "not modelled" in said or "not emulated" in said
    return Outcome(program, Verdict.REFUSED if refused else Verdict.WRONG, said)


def merged(record: Record, runs: Iterable[Suite]) -> Record:
    """The new outcomes; the old ones of programs of the same sources that were not run or are not at hand."""
    known = dict(record)
    for run in runs:
        then = known.get(run.suite)
        outcomes = {each.program: each for each in then.outcomes} if then and then.sources == run.sources else {}
        for each in run.outcomes:
            if each.verdict != Verdict.MISSING or each.program not in outcomes:
                outcomes[each.program] = each
        kept = tuple(outcomes[name] for name in run.names if name in outcomes)
        known[run.suite] = replace(run, outcomes=kept, programs=())
    return {name: known[name] for name in sorted(known)}


def lesser(then: Suite | None, run: Suite) -> list[str]:
    """A line for each program that was right in the record and, being at hand, is not right now."""
    right = {each.program for each in (then.outcomes if then else ()) if each.verdict == Verdict.RIGHT}
    gone = [f"{name} was right and is not there any more" for name in sorted(right - {*run.names})]
    others = [each for each in run.outcomes if each.verdict not in (Verdict.RIGHT, Verdict.MISSING)]
    return gone + [f"{each.program} was right and is {each}" for each in others if each.program in right]


def read(file: Path) -> Record:
    """An empty record where there is no file."""
    if not file.exists():
        return {}
    return {each.suite: each for each in _DOCUMENT.validate_json(file.read_bytes())["suites"]}


def write(file: Path, record: Record) -> None:
    """Write the record, with a line for each program, and its table into the page beside it where there is one."""
    suites = []
    for suite in record.values():
        head: dict[str, Any] = SUITE.dump_python(suite, mode="json", exclude_defaults=True)
        programs = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in head.pop("outcomes", ()))
        suites.append(f'{json.dumps(head)[:-1]}, "outcomes": [\n  ' + ",\n  ".join(programs) + "\n ]}")
    replace_file(file, '{"suites": [\n ' + ",\n ".join(suites) + "\n]}\n")
    page = file.with_suffix(".md")
    if page.exists():
        before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
        _, end, after = rest.partition(_END)
        assert begin and end, f"{page}: has no place for the table; put {_BEGIN} and {_END} where it belongs"
        replace_file(page, f"{before}{_BEGIN}\n\n{markdown(record)}\n{_END}{after}")


def markdown(record: Record) -> str:
    """The table, the revisions, and for each verdict and its reason all programs that it applies to."""
    heads = ["suite", *Verdict, "programs"]
    lines, pinned, told = [], [], []
    for suite in record.values():
        verdicts = [each.verdict for each in suite.outcomes]
        lines.append([suite.title, *(verdicts.count(verdict) or "" for verdict in Verdict), len(verdicts)])
        if commits := [f"`{source}`" for source in suite.sources if "@" in source]:
            pinned.append(f"- {suite.title}: {', '.join(commits)}")
        programs: dict[str, list[str]] = {}
        for each in suite.outcomes:
            if each.verdict != Verdict.RIGHT:
                programs.setdefault(str(each), []).append(f"`{each.program}`")
        told += [f"- {suite.title}: {', '.join(names)} {said}" for said, names in programs.items()]
    align = ["left", *["right"] * (len(heads) - 1)]
    table = tabulate.tabulate(lines, heads, tablefmt="pipe", colalign=align, disable_numparse=True)
    revisions = ["Commits that were run:", "", *pinned, ""] if pinned else []
    return "\n".join([table, "", *revisions, *(told or ["Everything is right."]), ""])
