"""Tables: kinds of rows apart, ranked each by itself, with what was not measured below; and the published page."""

import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.results.__main__ import main
from portbench.results.model import Git, Machine, Published, Row, RunFile, Settings
from portbench.results.publish import page
from portbench.results.storage import to_json
from portbench.results.table import markdown, tables, terminal

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def row(runtime: str, where: str, total_us: int, index: int = 0, **changes: object) -> Row:
    fields: dict[str, object] = {
        "runtime": runtime,
        "family": "micropython",
        "version": "1.0",
        "where": where,
        "status": "measured",
        "run_index": index,
        "messages": 4,
        "total_us": total_us,
        "round_trip_us": [total_us / 4] * 4,
    }
    return Row(**(fields | changes))  # type: ignore[arg-type]


def missing(runtime: str, status: str, reason: str, index: int = 0) -> Row:
    return Row(
        runtime=runtime,
        family="wiznet",
        version="",
        where="emulated",  # type: ignore[arg-type]
        status=status,  # type: ignore[arg-type]
        reason=reason,
        run_index=index,
    )


def run_of(*rows: Row) -> RunFile:
    return RunFile(
        started_utc=START,
        finished_utc=START + timedelta(seconds=9),
        machine=Machine(system="Linux", release="6", architecture="x86_64", processor="CPU", cores=2, python="3.11"),
        tools={"rich": "15", "mpremote": "1.29"},
        git=Git(revision="a" * 40, dirty=True),
        rows=list(rows),
    )


PUBLISHED = Published(total_s=[0.004], messages=4, source="someone")
FULL = run_of(
    row("slow", "emulated", 8000, settings=Settings(spi_hz_asked=2_000_000, spi_hz_actual=1_953_125, intn=False)),
    row("fast", "emulated", 2000, 0, profile="tuned", published=PUBLISHED, ready_us=1_500_000),
    row("fast", "emulated", 2020, 1, profile="tuned", published=PUBLISHED, ready_us=1_500_000),
    row("unix", "hosted", 40, settings=Settings(turnaround_us=35.2)),
    row("board", "silicon", 9000, messages_asked=1000),
    missing("other", "skipped", "no image; provide it: curl -o 'a|b'"),
    missing("broken", "failed", "waited 5 s for <the> console", 0),
    missing("broken", "failed", "waited 5 s for <the> console", 1),
)


def cells(title: str) -> list[dict[str, str]]:
    table = next(table for table in tables(FULL) if table.title == title)
    return [dict(zip(table.columns, line, strict=True)) for line in table.rows]


def test_kinds_are_apart_and_ranked_by_themselves() -> None:
    assert [table.title for table in tables(FULL)] == ["Silicon", "Emulated", "Hosted", "Not measured"]
    assert [(line["rank"], line["runtime"]) for line in cells("Emulated")] == [("1", "fast"), ("2", "slow")]
    assert [(line["rank"], line["runtime"]) for line in cells("Hosted")] == [("1", "unix")]
    assert [(line["rank"], line["runtime"]) for line in cells("Silicon")] == [("1", "board")]


def test_figures_of_a_row() -> None:
    fast, slow = cells("Emulated")
    assert fast == {
        "rank": "1",
        "runtime": "fast",
        "version": "1.0",
        "settings": "tuned",
        "SPI MHz asked -> real": "",
        "INTn": "",
        "messages": "4",
        "runs": "2",
        "messages/s": "1990",
        "spread": "1.0%",
        "round trip us": "502.5",
        "p99 us": "505.0",
        "ready ms": "1500",
        "silicon/s": "1000",
        "ratio": "1.99",
        "notes": "silicon: someone",
    }
    assert slow["SPI MHz asked -> real"] == "2 -> 1.953" and slow["INTn"] == "no" and slow["messages/s"] == "500.0"
    assert cells("Silicon")[0]["notes"] == "4 of 1000 messages"
    assert "SPI MHz asked -> real" not in cells("Hosted")[0]


def test_unstable_row_says_so_and_why() -> None:
    (table,) = tables(run_of(row("x", "emulated", 4000, 0), row("x", "emulated", 4400, 1)))
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert line["spread"] == "9.5% unstable" and line["notes"] == "unstable: runs spread by 10%"


def test_what_was_not_measured_is_listed_with_its_reason() -> None:
    assert cells("Not measured") == [
        {
            "runtime": "other",
            "where": "emulated",
            "status": "skipped",
            "reason": "no image; provide it: curl -o 'a|b'",
            "runs": "1",
        },
        {
            "runtime": "broken",
            "where": "emulated",
            "status": "failed",
            "reason": "waited 5 s for <the> console",
            "runs": "2",
        },
    ]


def test_markdown_is_well_formed() -> None:
    text = markdown(FULL)
    assert r"curl -o 'a\|b'" in text and "&lt;the> console" in text
    places = [text.index(f"## {title}") for title in ("Silicon", "Emulated", "Hosted", "Not measured")]
    assert places == sorted(places)
    assert "PC turnaround 35 us." in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        lines = block.splitlines()
        assert len(lines) >= 3 and set(lines[1]) <= set("|:-")
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


@given(st.text(min_size=1, max_size=40).filter(lambda text: "\n" not in text))
def test_any_text_stays_in_its_cell(reason: str) -> None:
    (block,) = re.findall(r"(?:^\|.*\n)+", markdown(run_of(missing("x", "failed", reason))), flags=re.MULTILINE)
    lines = block.split("\n")[:-1]
    assert len(lines) == 3
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1


def test_terminal_shows_the_same_cells() -> None:
    output = StringIO()
    Console(file=output, width=250).print(terminal(FULL, 250))
    shown = output.getvalue()
    for table in tables(FULL):
        assert table.title in shown
        for line in table.rows:
            assert all(cell in shown for cell in line)


def test_narrow_terminal_leaves_columns_out_and_says_so() -> None:
    output = StringIO()
    Console(file=output, width=80).print(terminal(FULL, 80))
    shown = output.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"│ *1 │ fast +│ tuned +│", shown) and "1990" in shown and "1.99" in shown
    assert "A wider terminal also shows: p99 us, ready ms" in " ".join(shown.split())
    for word in ("waited 5 s for", "<the> console"):
        assert word in shown


def test_run_without_rows() -> None:
    assert markdown(run_of()) == "Nothing was run.\n"
    output = StringIO()
    Console(file=output).print(terminal(run_of(), 80))
    assert output.getvalue() == "Nothing was run.\n"


def test_page_says_what_measured() -> None:
    text = page(FULL)
    assert text.startswith("# Results\n\nMeasured 2026-01-02 03:04 UTC. Made by")
    assert "CPU, 2 cores" in text and f"{'a' * 40} with local changes" in text and "mpremote 1.29, rich 15" in text
    assert "*unstable*" in text and "5%" in text
    assert "was interrupted" in page(FULL.model_copy(update={"finished_utc": None}))


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text(to_json(FULL))
    output = tmp_path / "docs" / "results.md"
    assert main(["publish", str(tmp_path / "run.json"), "--output", str(output)]) == 0
    assert output.read_text() == page(FULL)
    assert main(["show", str(tmp_path / "run.json")]) == 0
    assert "fast" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "absent.json")]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and "absent.json" in captured.err
    assert main(["publish", str(tmp_path / "run.json"), "--output", str(tmp_path / "run.json" / "x")]) == 1
    assert "cannot be written" in capsys.readouterr().err
