"""The record of other projects' suites: how a run changes it, its page, and the losses against it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.peers.record import FILE, Outcome, Suite, Verdict, lesser, markdown, merged, read, write
from tests.peers.sources import extract


def run(suite: str = "one", not_run: tuple[str, ...] = (), **programs: Verdict) -> Suite:
    outcomes = tuple(Outcome(name, verdict, "why") for name, verdict in programs.items())
    return Suite(suite, suite.title(), ("a/b@c",), outcomes, programs=tuple(sorted((*programs, *not_run))))


R, W, MISSING = Verdict.RIGHT, Verdict.WRONG, Verdict.MISSING
MIXED = run(a=R, b=W, c=R, d=Verdict.WIRE, e=Verdict.REFUSED, f=MISSING, g=Verdict.PART)
RECORD = merged({}, [MIXED])


def test_a_record_is_what_was_written_and_its_page_has_the_table(tmp_path: Path) -> None:
    file, page = tmp_path / "peers.json", tmp_path / "peers.md"
    assert read(file) == {}
    page.write_text("before\n<!-- made by pytest tests/peers --peers-record -->\nold\n<!-- end -->\nafter\n")
    write(file, RECORD)
    assert read(file) == RECORD == {"one": replace(MIXED, programs=())}
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n") and "old" not in text
    row = next(line for line in text.splitlines() if line.startswith("| One "))
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["One", "2", "1", "1", "1", "", "1", "1", "7"]
    assert "- One: `e` refused: why\n" in text and "`a`" not in text
    write(file, merged(read(file), [run("two", z=R), run(a=R)]))
    assert list(read(file)) == ["one", "two"] and "Everything is right." in page.read_text()
    write(file, merged({}, [run(a=W, b=Verdict.BUILD, c=W)]))
    assert "\n- One: `a`, `c` wrong: why\n- One: `b` other build: why\n" in page.read_text()
    page.write_text("nothing")
    with pytest.raises(AssertionError, match="has no place for the table"):
        write(file, {})


def test_what_was_not_run_or_is_not_at_hand_takes_nothing_from_the_record() -> None:
    now = run(a=MISSING, b=MISSING, c=W, h=MISSING, not_run=("d", "x"))
    kept = merged(RECORD, [now, run(i=R, not_run=("a", "b", "c", "d", "h"))])["one"].outcomes
    verdicts = {each.program: each.verdict for each in kept}
    assert verdicts == {"a": R, "b": W, "c": W, "d": Verdict.WIRE, "h": MISSING, "i": R}
    assert merged(RECORD, [replace(now, sources=("a/b@d",))])["one"].outcomes == now.outcomes


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


def test_a_source_is_taken_at_its_commit_from_a_clone_or_a_mirror(tmp_path: Path) -> None:
    work = tmp_path / "clones" / "thing"
    (work / "tests").mkdir(parents=True)

    def git(*arguments: str) -> str:
        own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", work, *own, *arguments], check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    (work / "tests" / "a").write_text("one")
    (work / "big").write_text("not wanted")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    source = f"some/thing@{git('rev-parse', 'HEAD').strip()}"
    git("rm", "--quiet", "tests/a")
    git("commit", "--quiet", "-m", "two")
    git("clone", "--quiet", "--bare", ".", str(tmp_path / "mirrors" / "some+thing" / "repo"))
    for folder in ("clones", "mirrors"):
        target = tmp_path / f"from-{folder}"
        assert extract(source, ["tests"], [tmp_path, tmp_path / folder], target)
        assert (target / "tests" / "a").read_text() == "one" and not (target / "big").exists()
    assert not extract(f"some/thing@{'0' * 40}", ["tests"], [work.parent], tmp_path)
