"""`portbench show history`: rows that it keeps, shows and links, and its errors."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from portbench.results.storage import RunWriter
from tests.results.rows import START, row, run_of
from tests.runner.conftest import Invoke, Start

FASTER = {"runtime": "micropython-1.28.0", "version": "1.28.0", "build": "new image.uf2"}
BEFORE = {"runtime": "micropython-1.26.0", "version": "1.26.0", "build": "old.uf2"}


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Three runs that have ended and one that has not."""
    written = []
    for day, total_us in enumerate((2000, 2000, 2200, 9000)):
        run = run_of(row(total_us, **BEFORE), row(total_us / 2, **FASTER))
        writer = RunWriter(run.model_copy(update={"started_utc": START + timedelta(days=day)}), tmp_path / "results")
        if day < 3:
            writer.finish(datetime(2026, 2, 1, tzinfo=UTC))
        written.append(writer.path)
    return written


def test_runs_that_have_ended_are_kept_and_shown(
    invoke: Invoke, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = invoke("show", "history")
    assert done.exit_code == 0
    assert "6 measurements in results/history" in done.stdout
    assert "micropython ping_pong emulated, over versions" in done.stdout and "step: 2.00x better" in done.stdout
    assert "micropython-1.26.0 ping_pong emulated, over time" in done.stdout and "step: 1.10x worse" in done.stdout
    names = f"results/runs/{runs[1].name} results/runs/{runs[2].name}"
    assert done.stdout.count(f"  portbench compare {names}\n") == 2
    assert "  portbench compare micropython-1.26.0 micropython-1.28.0 --workload ping_pong\n" in done.stdout
    assert len(list((tmp_path / "results" / "history").rglob("*.jsonl"))) == 6
    assert invoke("show", "history").stdout == done.stdout
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert invoke("show", "history").stdout.count(f"  portbench compare {names}\n") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "full"), [("ascii", "#"), ("latin-1", "#"), ("utf-8", "\u2588")])
def test_bars_are_in_signs_that_the_terminal_has(encoding: str, full: str, in_process: Start) -> None:
    done = in_process("show", "history", PYTHONIOENCODING=encoding)
    assert done.returncode == 0 and full * 30 in done.stdout and r"\u2588" not in done.stdout


def test_for_programs(invoke: Invoke, runs: list[Path]) -> None:
    found = json.loads(invoke("show", "history", "--json", "--runtime", "micropython-1.26").stdout)
    (series,) = found
    assert (series["axis"], series["unit"]) == ("time", "messages/s")
    assert [entry["values"] for entry in series["entries"]] == [[2000.0], [2000.0], [4e6 / 2200]]
    (step,) = series["steps"]
    assert (step["before"], step["after"]) == (runs[1].name, runs[2].name)
    assert step["compare"].startswith("portbench compare ") and step["times"] == pytest.approx(1 / 1.1)
    assert json.loads(invoke("show", "history", "--json", "--workload", "http").stdout) == []


def test_the_comparison_that_is_named_runs(invoke: Invoke, runs: list[Path]) -> None:
    series = json.loads(invoke("show", "history", "--json", "--runtime", "micropython-1.28").stdout)[0]
    done = invoke(*series["steps"][0]["compare"].split()[1:])
    assert done.exit_code == 0 and "+10.0 %" in done.stdout


def test_a_run_from_elsewhere_is_kept_where_one_says(invoke: Invoke, runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "pages" / "some.md"
    page.parent.mkdir()
    page.write_text("<!-- figures: micropython-1.26.0 -->\n<!-- /figures -->\n")
    words = ["show", "history", "--history", "mine", "--add", runs[0], "--add", runs[1], "--pages", "pages"]
    done = invoke(*words)
    assert done.exit_code == 0 and "pages/some.md\n4 measurements in mine\n" in done.stdout
    assert "| Ping-pong  | micropython-1.26.0 |" in page.read_text()
    assert not (tmp_path / "results" / "history").exists()
    assert "pages/some.md" not in invoke(*words).stdout  # it has those figures already


def test_without_the_extra_one_line_says_so(invoke: Invoke, runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ruptures", None)
    done = invoke("show", "history")
    assert done.exit_code == 1
    assert done.stderr.startswith("portbench: finding steps in a history needs ruptures; install it: pip install ")
