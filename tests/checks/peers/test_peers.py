"""Peers' suites: sources by their commit, results files, counts, the record and losses against it. No image."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.runner.checks.check import Report, faults
from portbench.runner.checks.peers.record import lesser, markdown, merged, read, write
from portbench.runner.checks.peers.sources import Source, obtain
from portbench.runner.checks.peers.suite import Verdict, judged


def result(suite: str = "one", **programs: Verdict) -> Report:
    findings = tuple(judged(name, verdict, "why") for name, verdict in programs.items())
    return Report(suite, suite.title(), findings)


MIXED = result(
    a=Verdict.RIGHT,
    b=Verdict.WRONG,
    c=Verdict.RIGHT,
    d=Verdict.WIRE,
    e=Verdict.REFUSED,
    f=Verdict.MISSING,
    g=Verdict.PART,
)


def test_a_record_is_what_was_written_and_its_page_has_the_table(tmp_path: Path) -> None:
    file, page = tmp_path / "peers.json", tmp_path / "peers.md"
    assert read(file) == {}
    page.write_text("before\n<!-- made by portbench check peers --record -->\nold\n<!-- end -->\nafter\n")
    write(file, merged({}, [MIXED]))
    assert read(file) == {"one": MIXED}
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n") and "old" not in text
    row = next(line for line in text.splitlines() if line.startswith("| One "))
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["One", "2", "1", "1", "1", "", "1", "1", "7"]
    assert "- One: `e` refused: why\n" in text and "`a`" not in text
    write(file, merged(read(file), [result("two", z=Verdict.RIGHT), result(a=Verdict.RIGHT)]))
    assert list(read(file)) == ["one", "two"]
    assert "Everything is right." in page.read_text()


def test_what_is_said_of_many_is_said_once() -> None:
    page = markdown({"one": result(a=Verdict.WRONG, b=Verdict.BUILD, c=Verdict.WRONG)})
    assert page.endswith("- One: `a`, `c` wrong: why\n- One: `b` other build: why\n")


def test_what_is_not_at_hand_takes_nothing_from_the_record() -> None:
    now = result(a=Verdict.MISSING, b=Verdict.MISSING, c=Verdict.WRONG, h=Verdict.MISSING)
    kept = merged({"one": MIXED}, [now])["one"]
    verdicts = {finding.name: finding.outcome for finding in kept.findings}
    assert verdicts == {"a": Verdict.RIGHT, "b": Verdict.WRONG, "c": Verdict.WRONG, "h": Verdict.MISSING}
    assert merged({"one": MIXED}, [Report("one", "One", skipped="no git")]) == {"one": MIXED}


def test_the_page_is_made_from_the_record(tmp_path: Path) -> None:
    docs = Path(__file__).parents[3] / "docs" / "evidence"
    record, page = read(docs / "peers.json"), (docs / "peers.md").read_text(encoding="utf-8")
    assert record and markdown(record) in page, "run: portbench check peers --record docs/evidence/peers.json"
    assert all(report.findings and not report.skipped for report in record.values())
    write(tmp_path / "peers.json", record)
    assert (tmp_path / "peers.json").read_bytes() == (docs / "peers.json").read_bytes()


def test_a_damaged_record_and_a_page_without_a_place_are_told(tmp_path: Path) -> None:
    file = tmp_path / "peers.json"
    file.write_text('{"suites": [{"suite": 1}]}')
    with pytest.raises(PortbenchError, match=r"peers\.json: .*restore it, or record again with --record"):
        read(file)
    (tmp_path / "peers.md").write_text("nothing")
    with pytest.raises(PortbenchError, match="has no place for the table"):
        write(file, {})


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        (MIXED, []),
        (result(a=Verdict.RIGHT, c=Verdict.RIGHT, b=Verdict.RIGHT), []),
        (result(a=Verdict.RIGHT, c=Verdict.WRONG), ["one: c was right and is wrong: why"]),
        (result(a=Verdict.RIGHT), ["one: c was right and is not there any more"]),
        # As many right as before, but not the same ones.
        (result(a=Verdict.RIGHT, b=Verdict.RIGHT, c=Verdict.MISSING), ["one: c was right and is not had: why"]),
    ],
)
def test_what_is_less_than_the_record_is_told(now: Report, lines: list[str]) -> None:
    assert list(lesser(MIXED, now)) == lines
    assert lesser(None, now) == ()


def test_a_suite_that_could_not_be_run_is_a_fault() -> None:
    assert faults([MIXED, Report("two", "Two", skipped="no git")]) == ["1 of 2 parts could not be measured: two"]


@given(st.lists(st.tuples(st.text(min_size=1, max_size=20), st.sampled_from(Verdict)), unique_by=lambda pair: pair[0]))
def test_nothing_is_less_than_itself_and_every_fault_is_less(programs: list[tuple[str, Verdict]]) -> None:
    was = Report("one", "One", tuple(judged(name, verdict) for name, verdict in programs))
    assert lesser(was, was) == ()
    right = sum(verdict is Verdict.RIGHT for _, verdict in programs)
    assert len(lesser(was, Report("one", "One"))) == right
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "peers.json"), {"one": was})
        assert read(Path(folder, "peers.json")) == {"one": was}
    assert markdown({"one": was})


def results(folder: Path, *rows: tuple[str, str, str]) -> Path:
    path = folder / "_results.json"
    path.write_text(json.dumps({"args": {}, "results": rows}))
    return path


@pytest.mark.engine  # the suites import the emulated board
def test_micropythons_results_are_read_and_its_own_skips_are_not_counted(tmp_path: Path) -> None:
    from portbench.runner.checks.peers.micropython import read_results

    path = results(tmp_path, ("b.py", "fail", "truth"), ("a.py", "pass", ""), ("c.py", "skip", "too large"))
    assert read_results(path) == (
        judged("a.py", Verdict.RIGHT),
        judged("b.py", Verdict.WRONG, "truth"),
    )
    with pytest.raises(PortbenchError, match="result 'perhaps' is none of pass, fail, skip"):
        read_results(results(tmp_path, ("a.py", "perhaps", "")))
    path.write_text('{"results": [1]}')
    with pytest.raises(PortbenchError, match="the script left no results"):
        read_results(path)
    with pytest.raises(PortbenchError, match="the script left no results"):
        read_results(tmp_path / "none.json")


@pytest.mark.engine
def test_what_upstream_corrected_since_is_right_if_it_is_just_that(tmp_path: Path) -> None:
    from portbench.runner.checks.peers.micropython import corrected

    (tmp_path / "a").mkdir()
    for name in ("same", "other", "silent"):
        (tmp_path / "a" / f"{name}.py.native.exp").write_bytes(b"done\n")
    (tmp_path / "a_same.py.out").write_bytes(b"done\n")
    (tmp_path / "a_other.py.out").write_bytes(b"Traceback\ndone\n")
    (tmp_path / "a_unknown.py.out").write_bytes(b"done\n")
    names = ("same", "other", "silent", "unknown")
    wrong = [judged(f"a/{name}.py", Verdict.WRONG) for name in names]
    found = corrected(wrong, tmp_path, tmp_path)
    assert [each.outcome for each in found] == [Verdict.RIGHT, *[Verdict.WRONG] * 3]
    assert found[0].note == "as upstream expects it since" and found[1:] == tuple(wrong[1:])


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, Source]:
    """A folder with the clone `thing`, whose first commit has `tests/a` and whose second has it no more."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed; run: apt-get install git")
    folder = tmp_path / "folder"
    work = folder / "thing"
    (work / "tests").mkdir(parents=True)

    def git(*arguments: str) -> str:
        own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", "-C", str(work), *own, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    (work / "tests" / "a").write_text("one")
    (work / "big").write_text("not wanted")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    first = git("rev-parse", "HEAD")
    git("rm", "--quiet", "tests/a")
    git("commit", "--quiet", "-m", "two")
    return folder, Source("some/thing", first, ("tests",))


def test_a_source_is_taken_at_its_commit_and_kept(clone: tuple[Path, Source], tmp_path: Path) -> None:
    folder, source = clone
    found = obtain(source, [folder], tmp_path / "cache")
    assert (found / "tests" / "a").read_text() == "one" and not (found / "big").exists()
    assert obtain(source, [], tmp_path / "cache") == found
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [found.name]


def test_a_bare_mirror_by_owner_and_name_will_do(clone: tuple[Path, Source], tmp_path: Path) -> None:
    folder, source = clone
    mirrors = tmp_path / "mirrors" / "some+thing"
    mirrors.mkdir(parents=True)
    subprocess.run(
        ["git", "clone", "--quiet", "--bare", str(folder / "thing"), str(mirrors / "repo")],
        check=True,
        capture_output=True,
    )
    assert (obtain(source, [mirrors.parent], tmp_path / "cache") / "tests" / "a").is_file()


def test_a_source_that_nobody_has_is_told_in_one_line(
    clone: tuple[Path, Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")  # nothing leaves this PC
    folder, source = clone
    missing = Source(source.repository, "0" * 40, source.paths)
    with pytest.raises(
        PortbenchError, match=r"^some/thing@000000000000: no clone in .*folder has it, and git fetch: .*--sources DIR$"
    ):
        obtain(missing, [folder], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
