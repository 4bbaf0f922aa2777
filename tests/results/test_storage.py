"""Run files are whole at every moment, never overwrite one another, and a damaged one gives one line."""

import contextlib
import json
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results import storage
from portbench.results.environment import describe_machine, git_state, tool_versions
from portbench.results.model import Row, RunFile, Sim
from portbench.results.storage import RunWriter, StorageError
from tests.results.rows import START, missing, row, run_of


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
    assert writer.path == tmp_path / "runs" / "2026-01-02T030405Z.jsonl"
    assert storage.read(writer.path).rows == [] and not (tmp_path / "latest.json").exists()
    for index in range(3):
        writer.append(measured(index))
        assert storage.read(writer.path).rows == [measured(number) for number in range(index + 1)]
    assert storage.read(writer.path).finished_utc is None and not (tmp_path / "latest.json").exists()
    writer.finish(START + timedelta(seconds=9))
    assert storage.read(writer.path) == storage.read(tmp_path / "latest.json") == writer.run
    assert writer.run.finished_utc == START + timedelta(seconds=9)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["2026-01-02T030405Z.jsonl", "latest.json", "runs"]


def test_samples_keep_their_kind_of_number(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured())
    line = json.loads(writer.path.read_text().splitlines()[1])
    assert line["row"]["samples"]["round_trip_us"] == [400, 500.5]
    assert isinstance(storage.read(writer.path).rows[0].samples["round_trip_us"][0], int)


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(RunWriter(new_run(), tmp_path).path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    names = {f"2026-01-02T030405Z{suffix}.jsonl" for suffix in ["", *(f"-{number}" for number in range(2, 9))]}
    assert {path.name for path in paths} == names
    assert all(storage.read(path) == new_run() for path in paths)


def test_a_run_can_be_read_from_the_moment_its_file_is_there(tmp_path: Path) -> None:
    """`show` and `history` may read a run that another process begins: here after each line of code."""
    seen: list[RunFile] = []

    def read(_frame: FrameType, _event: str, _argument: object) -> Any:
        seen.extend(storage.read(path) for path in storage.run_files(tmp_path))
        return read

    earlier = sys.gettrace()
    sys.settrace(read)
    try:
        RunWriter(new_run(), tmp_path)
    finally:
        sys.settrace(earlier)
    assert seen and all(run == new_run() for run in seen)


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

    monkeypatch.setattr("portbench.results.storage.os.fsync", full)
    with pytest.raises(StorageError, match=r"jsonl: cannot be written \(No space left on device\); make room"):
        writer.append(measured(1))
    assert storage.read(writer.path).rows == [measured(0)] == writer.run.rows
    assert [path.name for path in writer.path.parent.iterdir()] == [writer.path.name]


def test_interruption_while_writing_keeps_the_earlier_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured(0))

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("portbench.results.storage.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writer.append(measured(1))
    assert storage.read(writer.path).rows == [measured(0)]
    monkeypatch.undo()
    writer.close()
    assert storage.read(tmp_path / "latest.json").rows == [measured(0)]
    assert [path.name for path in writer.path.parent.iterdir()] == [writer.path.name]


def test_an_interrupted_run_is_the_latest_and_has_no_end(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.close()
    assert not (tmp_path / "latest.json").exists()  # nothing was measured
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured())
    writer.close()
    writer.close()
    assert storage.read(tmp_path / "latest.json") == storage.read(writer.path) == writer.run
    assert writer.run.finished_utc is None


def test_half_a_last_line_costs_its_row_alone(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.append(measured(0))
    kept = len(writer.path.read_bytes())
    writer.append(measured(1))
    whole = writer.path.read_bytes()
    for end in (kept, kept + 1, (kept + len(whole)) // 2, len(whole) - 1):
        writer.path.write_bytes(whole[:end])
        assert storage.read(writer.path).rows == [measured(0)]


def test_a_run_that_was_killed_is_written_on(tmp_path: Path) -> None:
    path = tmp_path / "sweeps" / "a.jsonl"
    writer = RunWriter(new_run(), tmp_path, path)
    writer.append(measured(0), "one")
    writer.append(missing("x", "failed", "out of memory"), "two")
    writer.close()
    path.write_bytes(path.read_bytes() + b'{"job": "three", "row')
    writer = RunWriter(new_run(), tmp_path, path)
    assert writer.row_of("one") == measured(0) and writer.row_of("three") is None
    writer.append(measured(1), "two")
    writer.append(measured(2), "three")
    writer.finish(START)
    run = storage.read(path)
    assert run.rows == [measured(0), measured(1), measured(2)] and run == storage.read(tmp_path / "latest.json")
    writer = RunWriter(new_run(), tmp_path, path)
    assert writer.run.finished_utc is None
    writer.close()
    assert storage.run_files(tmp_path) == [path]


def test_rows_are_in_the_order_of_their_places_however_they_ended(tmp_path: Path) -> None:
    """Two equal runs are equal as files, and so is a sweep that went on after it was stopped."""
    writers = [RunWriter(new_run(), tmp_path / name) for name in "ab"]
    for writer, order in zip(writers, ((0, 1, 2, 3), (2, 0, 3, 1)), strict=True):
        for index in order:
            writer.append(measured(index), place=index)
        writer.finish(START)
        assert writer.run.rows == list(map(measured, range(4))) == storage.read(writer.path).rows
        assert [json.loads(line)["place"] for line in writer.path.read_text().splitlines()[1:-1]] == list(order)
    assert (tmp_path / "a" / "latest.json").read_bytes() == (tmp_path / "b" / "latest.json").read_bytes()
    path = tmp_path / "sweeps" / "a.jsonl"
    for ended in (((3, "d"), (1, "b")), ((2, "c"), (0, "a"), (3, "d"))):
        writer = RunWriter(new_run(), tmp_path, path)
        for index, job in ended:
            writer.append(measured(index), job, index)
        writer.close()
    assert storage.read(path).rows == list(map(measured, range(4))) == storage.read(tmp_path / "latest.json").rows
    assert writer.row_of("b") == measured(1)


def test_a_place_that_is_no_number_is_the_lines_own(tmp_path: Path) -> None:
    writer = RunWriter(new_run(), tmp_path)
    for index in range(2):
        writer.append(measured(index), place=1 - index)
    writer.close()
    writer.path.write_text(
        writer.path.read_text().replace('"place": 1', '"place": "x"').replace('"place": 0', '"place": null')
    )
    assert storage.read(writer.path).rows == [measured(0), measured(1)]


def test_one_process_writes_on_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "sweeps" / "a.jsonl"
    with contextlib.closing(RunWriter(new_run(), tmp_path, path)):
        with pytest.raises(StorageError, match=r"a\.jsonl: another run of this name is on; wait for it, or choose"):
            RunWriter(new_run(), tmp_path, path)
        RunWriter(new_run(), tmp_path, path.with_name("b.jsonl")).close()
    RunWriter(new_run(), tmp_path, path).close()


@pytest.mark.parametrize(
    ("line", "part"),
    [("[]", "line 2 is no object"), ("{", "line 2: is not JSON"), ('{"row": {}}', "rows[1].workload is absent")],
)
def test_a_damaged_line_is_told(tmp_path: Path, line: str, part: str) -> None:
    writer = RunWriter(new_run(), tmp_path)
    writer.path.write_text(writer.path.read_text() + line + "\n")
    with pytest.raises(StorageError) as caught:
        storage.read(writer.path)
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        RunWriter(new_run(), tmp_path / "file")


GOOD = storage.to_json(run_of(measured()))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is not JSON"),
        (GOOD[:-30], "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "schema_version is None, not 2"),
        (GOOD.replace('"schema_version": 2', '"schema_version": 3'), "schema_version is 3, not 2"),
        (GOOD.replace('"schema_version": 2', '"schema_version": true'), "schema_version is True"),
        (GOOD.replace('"schema_version": 2', '"schema_version": 1'), "schema_version is 1, not 2"),
        (GOOD.replace('"emulated"', '"moon"'), "rows[1].where is 'moon'"),
        (GOOD.replace('"total_us": 1000', '"total_us": NaN'), "rows[1].figures.total_us"),
        (GOOD.replace("500.5", "[1, 2]"), "rows[1].samples.round_trip_us[2]"),
        (GOOD.replace('"name": "messages_per_s"', '"name": "x"'), "rows[1]: a measured row"),
        (GOOD.replace('"machine"', '"engine"'), "machine is absent"),
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
