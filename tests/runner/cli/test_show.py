"""Runs as tables, pages, CSV and JSON; nothing is written anywhere but where the page goes."""

import csv
import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results import storage
from portbench.results.csv_export import plain, rows_csv, samples_csv
from portbench.results.model import Conditions, Headline, Machine, Offers, Published, Row, RunFile, Sim, json_schema
from tests.ping_pong import NATIVE_IMAGE
from tests.results import rows
from tests.runner.conftest import Invoke

DOCS = Path(__file__).parents[3] / "docs"


USUAL = {
    "runtime": "micropython-1.26.0",
    "version": "1.26.0",
    "conditions": Conditions(spi_hz_asked=2_000_000, intn=False, turnaround_us=200),
}


def row(**changes: Any) -> Row:
    return rows.row(4000, trips=[1999, 2001.5], **(USUAL | changes))


def skipped(reason: str) -> Row:
    return rows.missing(status="skipped", reason=reason, **USUAL)


RUN = rows.run_of(row(), row(where="hosted", run_index=1), skipped("no image"))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "latest.json").write_text(storage.to_json(RUN))
    return folder


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("words", [[], ["latest"], ["results/latest.json"], ["--results-dir=results"]])
def test_the_latest_run_is_shown(words: list[str], invoke: Invoke, results: Path) -> None:
    done = invoke("show", *words)
    assert done.exit_code == 0 and "Ping-pong: emulated" in done.stdout and "Ping-pong: hosted" in done.stdout
    only = invoke("show", *words, "--where", "hosted").stdout
    assert "Ping-pong: emulated" not in only and "Ping-pong: hosted" in only


def test_a_run_has_names(invoke: Invoke, results: Path) -> None:
    named = RUN.model_copy(update={"name": "nightly", "rows": [row(version="1.27.0")]})
    storage.RunWriter(named, results).close()
    assert "1.27.0" in invoke("show", "nightly", "--csv").stdout
    missing = invoke("show", "weekly")
    assert missing.exit_code == 1 and "weekly: is not a run file, a name" in missing.output


def test_a_runtime_is_its_rows(invoke: Invoke, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTBENCH_OFFLINE", "1")
    assert len(table(invoke("show", "micropython-1.26.0", "--csv").stdout)) == len(RUN.rows)
    other = invoke("show", "micropython-pico-1.26.1")
    assert other.exit_code == 1 and "has no row of micropython-pico-1.26.1; measure: portbench run" in other.output
    assert len(table(invoke("show", "micropython@1.26.0", "--csv").stdout)) == len(RUN.rows)
    own = results.parent / "own.uf2"
    shutil.copy(NATIVE_IMAGE, own)
    measured = row(runtime="own", image_sha256=hashlib.sha256(own.read_bytes()).hexdigest())
    (results / "latest.json").write_text(storage.to_json(RUN.model_copy(update={"rows": [*RUN.rows, measured]})))
    assert [each["runtime"] for each in table(invoke("show", "own.uf2", "--csv").stdout)] == ["own"]
    (results / "latest.json").unlink()  # then the figures of the runtime's board, which come with portbench
    shown = table(invoke("show", "micropython-pico-1.26.1", "--csv").stdout)
    assert {each["runtime"] for each in shown} == {"micropython-pico-1.26.1"}


def test_json_is_the_run(invoke: Invoke, results: Path) -> None:
    assert storage.parse(invoke("show", "--json").stdout, results) == RUN
    hosted = storage.parse(invoke("show", "--json", "--where=hosted").stdout, results)
    assert hosted.rows == [RUN.rows[1]]


def test_csv_has_a_line_per_row_or_per_sample(invoke: Invoke, results: Path) -> None:
    lines = table(invoke("show", "--csv").stdout)
    assert [line["status"] for line in lines] == ["measured", "measured", "skipped"]
    first = lines[0]
    assert (first["settings.messages"], first["figures.total_us"], first["conditions.intn"]) == ("2", "4000", "false")
    assert first["conditions.spi_hz_actual"] == first["reason"] == "" and "samples" not in first
    samples = table(invoke("show", "--samples", "--where=emulated").stdout)
    assert [(line["sample"], line["index"], line["value"]) for line in samples] == [
        ("round_trip_us", "0", "1999"),
        ("round_trip_us", "1", "2001.5"),
    ]


@pytest.mark.parametrize("verb", ["show latest", "show publish"])
def test_a_run_file_that_is_not_there_is_one_line(verb: str, invoke: Invoke) -> None:
    done = invoke(*verb.split())
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "portbench: results/latest.json: there is no such file; measure first: portbench run\n"


def test_a_page_goes_below_the_current_folder(invoke: Invoke, results: Path, tmp_path: Path) -> None:
    assert invoke("show", "publish").stdout == "docs/results.md\ndocs/images/results.svg\nresults/page.html\n"
    assert "Ping-pong: emulated" in (tmp_path / "docs" / "results.md").read_text()
    other = tmp_path / "other.md"
    assert invoke("show", "publish", results / "latest.json", "--output", other).exit_code == 0
    assert other.read_text() == (tmp_path / "docs" / "results.md").read_text()
    done = invoke("show", "publish", "--output", other / "x")
    assert done.exit_code == 1 and "cannot be written" in done.stderr and done.stderr.count("\n") == 1


def test_the_schema_in_the_docs_is_the_models(invoke: Invoke) -> None:
    written = (DOCS / "run-file.schema.json").read_text(encoding="utf-8")
    assert written == json_schema(), "run: portbench show --json-schema > docs/run-file.schema.json"
    assert invoke("show", "--json-schema").stdout == written


def test_the_page_on_the_format_has_every_field() -> None:
    text = (DOCS / "results-format.md").read_text(encoding="utf-8")
    for kind in (RunFile, Row, Conditions, Headline, Published, Offers, Sim, Machine):
        for name in kind.model_fields:
            assert f"`{name}`" in text, f"{kind.__name__}.{name}"


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
figures = st.integers(-(10**15), 10**15) | st.floats(-1e24, 1e24)
keys = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)


def cell(value: Any) -> str:
    if isinstance(value, str):
        return plain(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@given(
    st.lists(
        st.builds(
            row,
            runtime=words.filter(bool),
            version=words,
            note=st.none() | words,
            run_index=st.integers(0, 9),
            settings=st.dictionaries(keys, st.booleans() | figures | words, max_size=3),
            figures=st.dictionaries(keys, figures, max_size=3).map(lambda found: found | {"messages_per_s": 1.0}),
            samples=st.dictionaries(keys, st.lists(figures, max_size=3), max_size=2),
            published=st.none() | st.builds(Published, values=st.just([3.0, 1.0, 2.0]), source=st.just("someone")),
            sim=st.none() | st.builds(Sim, counters=st.dictionaries(keys, figures, max_size=2)),
        )
        | st.builds(skipped, words.filter(lambda text: bool(text) and "\n" not in text)),
        max_size=4,
    )
)
def test_what_was_exported_comes_back(rows: list[Row]) -> None:
    lines = table(rows_csv(rows))
    assert len(lines) == len(rows)
    for line, of in zip(lines, rows, strict=True):
        assert [line[name] for name in ("runtime", "version", "note")] == list(
            map(cell, (of.runtime, of.version, of.note))
        )
        assert line["reason"] == cell(of.reason) and line["run_index"] == str(of.run_index)
        groups = {"settings": of.settings, "figures": of.figures, "sim.counters": of.sim.counters if of.sim else {}}
        for group, values in groups.items():
            for column in (name for name in line if name.startswith(f"{group}.")):
                assert line[column] == cell(values.get(column.removeprefix(f"{group}.")))
            assert {f"{group}.{name}" for name in values} <= set(line)
        for name, value in of.figures.items():
            assert float(line[f"figures.{name}"]) == value
        assert line["published.median"] == ("2.0" if of.published else "")
        assert line["published.figure"] == ("messages_per_s" if of.published else "")
    expected = [value for of in rows for values in of.samples.values() for value in values]
    assert [float(line["value"]) for line in table(samples_csv(rows))] == expected


def test_a_spreadsheet_calculates_no_text() -> None:
    for text in ("=1", "+1", "-1+1", "-x", "@A1", "\t=1"):
        assert plain(text) == f"'{text}"
    for text in ("", "-", "-1.5", "1=1", "'=1", "a-b", " =1"):
        assert plain(text) == text


def test_no_rows_are_no_lines() -> None:
    assert table(rows_csv([])) == [] and table(samples_csv([])) == []
    assert json.loads(json_schema())["title"] == "RunFile"


def test_another_board_stands_beside(results: Path, invoke: Invoke, tmp_path: Path) -> None:
    other, empty = tmp_path / "pico-w.json", tmp_path / "empty.json"
    changed = row(board="RPI_PICO_W", figures={"total_us": 8000, "messages_per_s": 250.0})
    other.write_text(storage.to_json(RUN.model_copy(update={"rows": [changed]})))
    empty.write_text(storage.to_json(RUN.model_copy(update={"rows": []})))
    latest = results / "latest.json"
    table = invoke("show", latest, "--where", "emulated", "--beside", other).stdout
    assert "250 (1.26.0)" in table and "| 0.50 " in table
    (line,) = json.loads(invoke("show", latest, "--beside", other, "--json").stdout)
    assert line["times"] == 0.5
    refused = invoke("show", latest, "--beside", other, "--csv")
    assert (refused.exit_code, "--beside goes with --json" in refused.stderr) == (2, True)
    nothing = invoke("show", latest, "--beside", empty)
    assert (nothing.exit_code, "no workload and family in common" in nothing.stderr) == (1, True)
