"""The record of other projects' suites: how a run changes it, its page, and the losses against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.record import FILE, Outcome, Suite, Verdict, lesser, markdown, merged, read, write


def run(suite: str = "one", not_run: tuple[str, ...] = (), **programs: Verdict) -> Suite:
    outcomes = tuple(Outcome(name, verdict, "why") for name, verdict in programs.items())
    return Suite(suite, suite.title(), ("a/b@c",), outcomes, programs=tuple(sorted((*programs, *not_run))))


R, W, MISSING = Verdict.RIGHT, Verdict.WRONG, Verdict.MISSING
MIXED = run(a=R, b=W, c=R, d=Verdict.WIRE, e=Verdict.REFUSED, f=MISSING, g=Verdict.PART)
RECORD = merged({}, [MIXED])


def test_the_page_is_made_from_the_record(tmp_path: Path) -> None:
    record, page = read(FILE), FILE.with_suffix(".md").read_text(encoding="utf-8")
    assert markdown(record) in page, f"run: pytest tests/peers --sources DIR --peers-record {FILE.name}"
    assert record and all(suite.outcomes for suite in record.values())
    write(tmp_path / "peers.json", record)
    assert (tmp_path / "peers.json").read_bytes() == FILE.read_bytes()


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        (MIXED, []),
        (run(a=R, c=R, b=R), []),
        (run(a=R, c=W), ["c was right and is wrong: why"]),
        (run(a=R), ["c was right and is not there any more"]),
        # As many right as before, but not the same ones.
        (run(a=Verdict.REFUSED, b=R, c=R), ["a was right and is refused: why"]),
        # Not at hand, and not run.
        (run(a=MISSING, not_run=("c",)), []),
    ],
)
def test_what_is_less_than_the_record_is_told(now: Suite, lines: list[str]) -> None:
    assert lesser(RECORD["one"], now) == lines
    assert lesser(None, now) == []
