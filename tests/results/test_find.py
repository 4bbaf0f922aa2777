"""The run that a person means."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from portbench.results.model import Git, RunFile
from portbench.results.storage import RunWriter, StorageError, find_run, to_json
from tests.results.rows import START, row, run_of

FIRST, SECOND = "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334", "a1b2c3d0" + "f" * 32


def run(minute: int, name: str | None = None, revision: str | None = None) -> RunFile:
    git = None if revision is None else Git(revision=revision, dirty=False)
    changes = {"started_utc": START + timedelta(minutes=minute), "name": name, "git": git}
    return run_of(row(1000)).model_copy(update=changes)


def kept(folder: Path, *runs: RunFile) -> list[RunFile]:
    for each in runs:
        RunWriter(each, folder).close()
    return list(runs)


def test_the_latest_is_meant_where_nothing_is_said(tmp_path: Path) -> None:
    _, latest = kept(tmp_path, run(1), run(2))
    (tmp_path / "latest.json").write_text(to_json(latest))
    assert find_run(None, tmp_path) == find_run("latest", tmp_path) == latest


def test_a_file_is_meant_by_its_path_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.json", "kept"):
        Path(name).write_text(to_json(run(3)))
        assert find_run(name, tmp_path) == run(3)
    with pytest.raises(StorageError, match=r"^gone\.json: there is no such file"):
        find_run("gone.json", tmp_path)


def test_of_one_name_the_newest_is_meant(tmp_path: Path) -> None:
    _, newer, other = kept(tmp_path, run(1, "before"), run(2, "before"), run(3, "after"))
    assert find_run("before", tmp_path) == newer
    assert find_run("after", tmp_path) == other


def test_only_a_runs_own_name_counts(tmp_path: Path) -> None:
    kept(tmp_path, run(1).model_copy(update={"tools": {"name": "pytest"}}))
    for text in ("messages_per_s", "pytest", "some-1.0"):
        with pytest.raises(StorageError, match=f"^{text}: is no run file"):
            find_run(text, tmp_path)


def test_what_a_row_says_is_no_name_and_no_revision(tmp_path: Path) -> None:
    told = run_of(row(1000, settings={"revision": "a1b2c3d", "rows": 1}))
    kept(tmp_path, told)
    with pytest.raises(StorageError, match=r"^a1b2c3d: is no run file"):
        find_run("a1b2c3d", tmp_path)


def test_a_revision_is_meant_by_seven_digits_or_more(tmp_path: Path) -> None:
    first, second, _ = kept(tmp_path, run(1, revision=FIRST), run(2, revision=SECOND), run(3))
    assert find_run("a1b2c3d", tmp_path) == second
    assert find_run(FIRST[:8].upper(), tmp_path) == find_run(FIRST, tmp_path) == first
    for text in ("a1b2c3", FIRST[1:9], FIRST + "0"):
        with pytest.raises(StorageError, match=f"^{text}: is no run file"):
            find_run(text, tmp_path)


def test_a_damaged_run_is_passed_over_and_what_is_none_is_told_with_what_to_do(tmp_path: Path) -> None:
    (wanted,) = kept(tmp_path, run(1, "mine"))
    (tmp_path / "runs" / "2.jsonl").write_bytes(b"{\xff\n")
    (tmp_path / "runs" / "3.jsonl").write_bytes(b"")
    (tmp_path / "runs" / "4.txt").write_text(to_json(run(4, "mine")))
    assert find_run("mine", tmp_path) == wanted
    with pytest.raises(StorageError) as caught:
        find_run("yours", tmp_path)
    assert str(caught.value) == (
        "yours: is no run file, no name (portbench run --name yours) and no revision of a run in"
        f" {tmp_path}/runs; measure it first"
    )
