"""A run file to the letter: its text, and the lines about a damaged one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from portbench.results import storage
from portbench.results.model import Offers, RunFile, Sim
from portbench.results.storage import RunWriter, StorageError, to_json
from tests.results.rows import MACHINE, row, run_of

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
    """Where its name can be changed into the other's: a folder for temporary files may be on another disk."""
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
