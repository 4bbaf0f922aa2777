"""Run files are whole at every moment, never overwrite one another, and a damaged one gives one line."""

import json
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results import storage
from portbench.results.environment import describe_machine, git_state, tool_versions
from portbench.results.model import Row, RunFile, Sim
from portbench.results.storage import RunWriter, StorageError
from tests.results.rows import START, row, run_of


def new_run() -> RunFile:
    return run_of()


def measured(index: int = 0) -> Row:
    return row(
        1000,
        index,
        trips=[400, 500.5],
        conditions={"spi_hz_asked": 2_000_000, "intn": False, "address_mode": "dhcp", "turnaround_us": 200},
        sim=Sim(host_s=1.5, counters={"spi_bytes": 638}),
    )


def test_each_row_is_on_disk_at_once(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    assert writer.path == tmp_path / "runs" / "2026-01-02T030405Z.json"
    assert storage.read(writer.path).rows == [] and not (tmp_path / "latest.json").exists()
    for index in range(3):
        writer.append(measured(index))
        for path in (writer.path, tmp_path / "latest.json"):
            assert storage.read(path).rows == [measured(number) for number in range(index + 1)]
    assert storage.read(writer.path).finished_utc is None
    writer.finish(START + timedelta(seconds=9))
    assert storage.read(writer.path) == storage.read(tmp_path / "latest.json") == writer.run
    assert writer.run.finished_utc == START + timedelta(seconds=9)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["2026-01-02T030405Z.json", "latest.json", "runs"]


def test_samples_keep_their_kind_of_number(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured())
    document = json.loads(writer.path.read_text())
    assert document["rows"][0]["samples"]["round_trip_us"] == [400, 500.5]
    assert isinstance(storage.read(writer.path).rows[0].samples["round_trip_us"][0], int)


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(RunWriter(new_run(), tmp_path).path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    names = {f"2026-01-02T030405Z{suffix}.json" for suffix in ["", *(f"-{number}" for number in range(2, 9))]}
    assert {path.name for path in paths} == names
    assert all(storage.read(path) == new_run() for path in paths)


def test_names_are_unique_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("portbench.files.os.link", no_links)
    first, second = RunWriter(new_run(), tmp_path), RunWriter(new_run(), tmp_path)
    assert first.path != second.path and storage.read(second.path) == new_run()


def test_threads_may_share_a_writer(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    threads = [threading.Thread(target=writer.append, args=(measured(index),)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(row.run_index for row in storage.read(writer.path).rows) == list(range(12))


def test_failed_write_keeps_the_earlier_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured(0))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("portbench.files.os.fsync", full)
    with pytest.raises(StorageError, match=r"json: cannot be written \(No space left on device\); make room"):
        writer.append(measured(1))
    assert storage.read(writer.path).rows == [measured(0)] == writer.run.rows
    assert [path.name for path in writer.path.parent.iterdir()] == [writer.path.name]


def test_interruption_while_writing_keeps_the_earlier_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured(0))

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("portbench.files.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writer.append(measured(1))
    assert storage.read(writer.path).rows == storage.read(tmp_path / "latest.json").rows == [measured(0)]
    assert [path.name for path in writer.path.parent.iterdir()] == [writer.path.name]


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        RunWriter(new_run(), tmp_path / "file")


GOOD = storage.to_json(new_run().with_row(measured()))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is not JSON"),
        (GOOD[:-30], "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "schema_version is None, not 1 or 2"),
        (GOOD.replace('"schema_version": 2', '"schema_version": 3'), "schema_version is 3, not 1 or 2"),
        (GOOD.replace('"schema_version": 2', '"schema_version": true'), "schema_version is True"),
        (GOOD.replace('"schema_version": 2', '"schema_version": 1'), "rows.0"),
        (GOOD.replace('"emulated"', '"moon"'), "rows.0.where is 'moon'"),
        (GOOD.replace('"total_us": 1000', '"total_us": NaN'), "rows.0.figures.total_us"),
        (GOOD.replace("500.5", "[1, 2]"), "rows.0.samples.round_trip_us.1"),
        (GOOD.replace('"name": "messages_per_s"', '"name": "x"'), "rows.0 is {'workload'"),
        (GOOD.replace('"machine"', '"engine"'), "machine is"),
    ],
)
def test_damaged_file_gives_one_line(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(StorageError) as caught:
        storage.read(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: ") and part in line and "; " in line and "\n" not in line and len(line) < 300


def test_absent_unreadable_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no such file; measure first: portbench run"):
        storage.read(tmp_path / "absent.json")
    with pytest.raises(StorageError, match="cannot be read"):
        storage.read(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"{\xff")
    with pytest.raises(StorageError, match="byte 1 is not UTF-8"):
        storage.read(tmp_path / "binary.json")


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 40), st.text(max_size=8))
def test_mutated_file_is_read_or_refused_in_one_line(at: int, cut: int, insert: str) -> None:
    try:
        storage.parse(GOOD[:at] + insert + GOOD[at + cut :], Path("run.json"))
    except StorageError as error:
        assert str(error).startswith("run.json: ") and "\n" not in str(error)


def test_machine_tools_and_revision(tmp_path: Path) -> None:
    machine = describe_machine()
    assert machine.cores >= 1 and machine.python.startswith("CPython 3.") and machine.processor
    assert tool_versions(["pytest", "no-such-package"]).keys() == {"pytest"}
    assert git_state(tmp_path) is None


def test_git_state_of_a_work_tree(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path), *words], check=True, timeout=30
        )

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-qm", "one")
    clean = git_state(tmp_path)
    assert clean is not None and len(clean.revision) == 40 and not clean.dirty
    (tmp_path / "file").write_text("two")
    changed = git_state(tmp_path)
    assert changed is not None and changed.dirty and changed.revision == clean.revision
