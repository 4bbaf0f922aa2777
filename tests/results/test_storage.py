"""Run files are whole at every moment, never overwrite one another, and a damaged one gives one line."""

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results import storage
from portbench.results.environment import describe_machine, git_state, tool_versions
from portbench.results.model import Git, Machine, Offers, Row, RunFile, Sim
from portbench.results.storage import RunWriter, StorageError, find_run, to_json
from tests.results.rows import MACHINE, START, missing, row, run_of


def measured(index: int = 0) -> Row:
    return row(
        1000,
        index,
        trips=[400, 500.5],
        conditions={"spi_hz_asked": 2_000_000, "intn": False, "address_mode": "dhcp", "turnaround_us": 200},
        sim=Sim(host_s=1.5, counters={"spi_bytes": 638}),
    )


def test_each_row_is_on_disk_at_once(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
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
    writer = RunWriter(run_of(), tmp_path)
    writer.append(measured())
    line = json.loads(writer.path.read_text().splitlines()[1])
    assert line["row"]["samples"]["round_trip_us"] == [400, 500.5]
    assert isinstance(storage.read(writer.path).rows[0].samples["round_trip_us"][0], int)


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        paths = list(threads.map(lambda _: RunWriter(run_of(), tmp_path).path, range(8)))
    names = {f"2026-01-02T030405Z{suffix}.jsonl" for suffix in ["", *(f"-{number}" for number in range(2, 9))]}
    assert {path.name for path in paths} == names
    assert all(storage.read(path) == run_of() for path in paths)


def test_a_run_can_be_read_from_the_moment_its_file_is_there(tmp_path: Path) -> None:
    """`show` and `history` may read a run that another process begins: here after each line of code."""
    seen: list[RunFile] = []

    def read(_frame: FrameType, _event: str, _argument: object) -> Any:
        seen.extend(storage.read(path) for path in storage.run_files(tmp_path))
        return read

    earlier = sys.gettrace()
    sys.settrace(read)
    try:
        RunWriter(run_of(), tmp_path)
    finally:
        sys.settrace(earlier)
    assert seen and all(run == run_of() for run in seen)


def test_threads_may_share_a_writer(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(writer.append, map(measured, range(12))))
    assert sorted(row.run_index for row in storage.read(writer.path).rows) == list(range(12))


@pytest.mark.parametrize(
    ("failure", "raised", "says"),
    [
        (
            OSError(28, "No space left on device"),
            StorageError,
            r"jsonl: cannot be written \(No space left on device\); make room",
        ),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_write_that_ends_early_keeps_the_earlier_rows(
    failure: BaseException,
    raised: type[BaseException],
    says: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = RunWriter(run_of(), tmp_path)
    writer.append(measured(0))
    monkeypatch.setattr("portbench.results.storage.os.fsync", Mock(side_effect=failure))
    with pytest.raises(raised, match=says):
        writer.append(measured(1))
    assert storage.read(writer.path).rows == [measured(0)] == writer.run.rows
    monkeypatch.undo()
    writer.close()
    assert storage.read(tmp_path / "latest.json").rows == [measured(0)]
    assert [path.name for path in writer.path.parent.iterdir()] == [writer.path.name]


def test_an_interrupted_run_is_the_latest_and_has_no_end(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
    writer.close()
    assert not (tmp_path / "latest.json").exists()  # nothing was measured
    writer = RunWriter(run_of(), tmp_path)
    writer.append(measured())
    writer.close()
    writer.close()
    assert storage.read(tmp_path / "latest.json") == storage.read(writer.path) == writer.run
    assert writer.run.finished_utc is None


def test_half_a_last_line_costs_its_row_alone(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
    writer.append(measured(0))
    kept = len(writer.path.read_bytes())
    writer.append(measured(1))
    whole = writer.path.read_bytes()
    for end in (kept, kept + 1, (kept + len(whole)) // 2, len(whole) - 1):
        writer.path.write_bytes(whole[:end])
        assert storage.read(writer.path).rows == [measured(0)]


def test_a_run_that_was_killed_is_written_on(tmp_path: Path) -> None:
    path = tmp_path / "sweeps" / "a.jsonl"
    writer = RunWriter(run_of(), tmp_path, path)
    writer.append(measured(0), "one")
    writer.append(missing("x", "failed", "out of memory"), "two")
    writer.close()
    path.write_bytes(path.read_bytes() + b'{"job": "three", "row')
    writer = RunWriter(run_of(), tmp_path, path)
    assert writer.row_of("one") == measured(0) and writer.row_of("three") is None
    writer.append(measured(2), "three")
    writer.append(measured(1), "two")  # in its old place
    writer.finish(START)
    run = storage.read(path)
    assert run.rows == [measured(0), measured(1), measured(2)] and run == storage.read(tmp_path / "latest.json")
    writer = RunWriter(run_of(), tmp_path, path)
    assert writer.run.finished_utc is None
    writer.close()
    assert storage.run_files(tmp_path) == [path]


def test_rows_are_in_the_order_of_their_places_however_they_ended(tmp_path: Path) -> None:
    """Two equal runs are equal as files, and so is a sweep that went on after it was stopped."""
    writers = [RunWriter(run_of(), tmp_path / name) for name in "ab"]
    for writer, order in zip(writers, ((0, 1, 2, 3), (2, 0, 3, 1)), strict=True):
        for index in order:
            writer.append(measured(index), place=index)
        writer.finish(START)
        assert writer.run.rows == list(map(measured, range(4))) == storage.read(writer.path).rows
        assert [json.loads(line)["place"] for line in writer.path.read_text().splitlines()[1:-1]] == list(order)
    assert (tmp_path / "a" / "latest.json").read_bytes() == (tmp_path / "b" / "latest.json").read_bytes()
    path = tmp_path / "sweeps" / "a.jsonl"
    for ended in (((3, "d"), (1, "b")), ((2, "c"), (0, "a"), (3, "d"))):
        writer = RunWriter(run_of(), tmp_path, path)
        for index, job in ended:
            writer.append(measured(index), job, index)
        writer.close()
    assert storage.read(path).rows == list(map(measured, range(4))) == storage.read(tmp_path / "latest.json").rows
    assert writer.row_of("b") == measured(1)


def test_a_place_that_is_no_number_is_the_lines_own(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
    for index in range(2):
        writer.append(measured(index), place=1 - index)
    writer.close()
    writer.path.write_text(
        writer.path.read_text().replace('"place": 1', '"place": "x"').replace('"place": 0', '"place": null')
    )
    assert storage.read(writer.path).rows == [measured(0), measured(1)]
    writer = RunWriter(run_of(), tmp_path)
    writer.append(measured(0))
    writer.append(measured(1), "0")  # a job of that name, not the first row
    assert storage.read(writer.path).rows == [measured(0), measured(1)]


def test_one_process_writes_on_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "sweeps" / "a.jsonl"
    with contextlib.closing(RunWriter(run_of(), tmp_path, path)):
        with pytest.raises(StorageError, match=r"a\.jsonl: another run of this name is on; wait for it, or choose"):
            RunWriter(run_of(), tmp_path, path)
        RunWriter(run_of(), tmp_path, path.with_name("b.jsonl")).close()
    RunWriter(run_of(), tmp_path, path).close()


@pytest.mark.parametrize(
    ("line", "part"),
    [("[]", "line 2 is not an object"), ("{", "line 2: is not JSON"), ('{"row": {}}', "rows[1].workload is absent")],
)
def test_a_damaged_line_is_told(tmp_path: Path, line: str, part: str) -> None:
    writer = RunWriter(run_of(), tmp_path)
    writer.path.write_text(writer.path.read_text() + line + "\n")
    with pytest.raises(StorageError) as caught:
        storage.read(writer.path)
    assert part in str(caught.value) and "\n" not in str(caught.value)


GOOD = to_json(run_of(measured()))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (GOOD[:-30], "is not JSON"),
        ("[]", "schema_version is None, not 2"),
        ("[" * 100_000, "is not JSON"),
        (GOOD.replace('"emulated"', '"moon"'), "rows[1].where is 'moon'"),
        (GOOD.replace('"total_us": 1000', '"total_us": NaN'), "rows[1].figures.total_us"),
        (GOOD.replace("500.5", "[1, 2]"), "rows[1].samples.round_trip_us[2]"),
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


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 40), st.text(max_size=8))
def test_mutated_file_is_read_or_refused_in_one_line(at: int, cut: int, insert: str) -> None:
    try:
        storage.parse(GOOD[:at] + insert + GOOD[at + cut :], Path("run.json"))
    except StorageError as error:
        assert str(error).startswith("run.json: ") and "\n" not in str(error)


def test_machine_tools_and_revision(tmp_path: Path) -> None:
    system, cpuinfo = os.uname(), Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = re.findall(r"(?m)^model name\s*: (.*\S)", cpuinfo) or [platform.processor() or system.machine]
    python = f"CPython {sys.version.split()[0]}"
    assert describe_machine() == Machine(
        system=system.sysname,
        release=system.release,
        architecture=system.machine,
        processor=names[0],
        cores=os.cpu_count() or 0,
        python=python,
    )
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
    (tmp_path / "another").touch()  # which is not of the work tree yet
    assert git_state(tmp_path) == clean
    (tmp_path / "file").write_text("two")
    changed = git_state(tmp_path)
    assert changed is not None and changed.dirty and changed.revision == clean.revision


MACHINE_LINES = """\
 "machine": {
  "system": "Linux",
  "release": "6",
  "architecture": "x86_64",
  "processor": "CPU",
  "cores": 2,
  "python": "CPython 3.11"
 },
"""


def test_the_text_has_a_line_per_field_and_one_per_row() -> None:
    head = (
        '{\n "schema_version": 2,\n "started_utc": "2026-01-02T03:04:05Z",\n "finished_utc": null,\n "name": "mine",\n'
        + MACHINE_LINES
        + ' "tools": {},\n "git": null,\n'
    )
    assert to_json(run_of(name="mine")) == head + ' "rows": []\n}\n'
    one, two = row(1000), row(2000, 1)
    text = to_json(run_of(one, two, name="mine"))
    assert text.startswith(head + ' "rows": [\n  {"workload": "ping_pong", "runtime": "some-1.0", ')
    lines = text.removeprefix(head).split("\n")
    assert len(lines) == 6 and lines[1].endswith("},") and lines[2].endswith("}") and lines[3:] == [" ]", "}", ""]
    assert storage.parse(text, Path("x")).rows == [one, two]


def test_a_date_is_written_as_one() -> None:
    offers = Offers(released=date(2023, 1, 2), maintained=False, sources=["a page"])
    assert '"released": "2023-01-02", "maintained": false' in to_json(run_of(row(1000, offers=offers)))


def refused(text: str) -> str:
    with pytest.raises(StorageError) as caught:
        storage.parse(text, Path("run.json"))
    return str(caught.value)


def test_what_is_no_json_or_of_another_schema_is_told() -> None:
    assert refused("") == (
        "run.json: is not JSON (Expecting value: line 1 column 1 (char 0)); it is damaged, choose another run file"
    )
    for version, shown in (("1", "1"), ("3", "3"), ('"2"', "'2'"), ("true", "True"), ("null", "None")):
        line = f"run.json: schema_version is {shown}, not 2; choose a run file of this portbench"
        assert refused(f'{{"schema_version": {version}}}') == line
    assert refused('"schema_version"').startswith("run.json: schema_version is None, not 2; ")


@pytest.mark.parametrize(("length", "shown"), [(58, "a" * 58 + "'"), (59, "a" * 56 + "...")])
def test_a_long_value_is_cut(length: int, shown: str) -> None:
    text = to_json(run_of(row(1000))).replace('"emulated"', f'"{"a" * length}"')
    assert refused(text) == (
        f"run.json: rows[1].where is '{shown}; input should be 'silicon', 'emulated' or 'hosted';"
        " choose another run file"
    )


def test_our_own_words_stand_for_themselves() -> None:
    text = to_json(run_of(row(1000))).replace('"name": "messages_per_s"', '"name": "none"')
    assert refused(text) == (
        "run.json: rows[1]: a measured row needs a headline figure above 0; choose another run file"
    )


def test_a_key_that_is_strange_does_not_break_the_line() -> None:
    text = to_json(run_of(row(1000))).replace('"total_us"', '"to\\ntal"').replace("1000", '"x"', 1)
    assert refused(text).startswith("run.json: rows[1].figures.to\\ntal")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    absent, folder, binary = tmp_path / "absent.json", tmp_path, tmp_path / "binary.json"
    binary.write_bytes(b'{"a": "\xff"}')
    for path, line in (
        (absent, "there is no such file; measure first: portbench run"),
        (folder, "cannot be read (Is a directory); name a readable run file"),
        (binary, "byte 7 is not UTF-8; it is damaged, choose another run file"),
    ):
        with pytest.raises(StorageError) as caught:
            storage.read(path)
        assert str(caught.value) == f"{path}: {line}"


def test_what_cannot_be_written_is_told_with_its_path(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
    (tmp_path / "latest.json").mkdir()
    writer.append(row(1000))
    with pytest.raises(StorageError) as caught:
        writer.close()
    assert str(caught.value) == (
        f"{tmp_path}/latest.json: cannot be written (Is a directory); make room or make it writable"
    )
    assert writer.run.rows == storage.read(writer.path).rows == [row(1000)], "the run itself is kept"
    (tmp_path / "file").touch()
    with pytest.raises(StorageError) as caught:
        RunWriter(run_of(), tmp_path / "file")
    assert str(caught.value).startswith(f"{tmp_path}/file/runs: cannot be written (")


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as environment:
        environment.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_a_run_is_named_by_when_it_started_in_utc(tmp_path: Path) -> None:
    started = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5)))
    writer = RunWriter(RunFile(started_utc=started, machine=MACHINE), tmp_path / "new" / "folder")
    assert writer.path.name == "2026-01-01T220405Z.jsonl"
    before = datetime.now(UTC)
    writer.finish()
    finished = writer.run.finished_utc
    assert finished is not None and before <= finished <= datetime.now(UTC) and finished.utcoffset() == timedelta(0)


def test_a_file_is_written_in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name can be changed there: a folder for temporary files may be on another disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    writer = RunWriter(run_of(), tmp_path)
    writer.append(row(1000))
    assert storage.read(writer.path).rows == [row(1000)]


def test_files_are_everybodys_to_read(tmp_path: Path) -> None:
    writer = RunWriter(run_of(), tmp_path)
    writer.append(row(1000))
    writer.close()
    assert [path.stat().st_mode & 0o777 for path in (writer.path, tmp_path / "latest.json")] == [0o644, 0o644]


def test_a_row_is_exact_if_nothing_varied_in_it() -> None:
    rows = (row(1000), row(1000, sim=Sim()), row(1000, sim=Sim(seed=0)), row(1000, where="hosted", sim=Sim()))
    assert [each.is_exact for each in rows] == [False, True, False, False]


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
        with pytest.raises(StorageError, match=f"^{text}: is not a run file"):
            find_run(text, tmp_path)


def test_what_a_row_says_is_no_name_and_no_revision(tmp_path: Path) -> None:
    told = run_of(row(1000, settings={"revision": "a1b2c3d", "rows": 1}))
    kept(tmp_path, told)
    with pytest.raises(StorageError, match=r"^a1b2c3d: is not a run file"):
        find_run("a1b2c3d", tmp_path)


def test_a_revision_is_meant_by_seven_digits_or_more(tmp_path: Path) -> None:
    first, second, _ = kept(tmp_path, run(1, revision=FIRST), run(2, revision=SECOND), run(3))
    assert find_run("a1b2c3d", tmp_path) == second
    assert find_run(FIRST[:8].upper(), tmp_path) == find_run(FIRST, tmp_path) == first
    for text in ("a1b2c3", FIRST[1:9], FIRST + "0"):
        with pytest.raises(StorageError, match=f"^{text}: is not a run file"):
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
        "yours: is not a run file, a name (portbench run --name yours) or a revision of a run in"
        f" {tmp_path}/runs; measure it first"
    )
