"""`portbench check silicon`: status, tables, reports and the page, of outcomes that no image is needed for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from portbench.results.silicon import FigureSet, load
from portbench.runner.checks.silicon.turnaround import Distribution
from portbench.runner.checks.silicon.verdict import Outcome, compare
from portbench.runner.cli.verbs.check import silicon
from tests.cli.conftest import Invoke


def measured(ratio: float, missing: str = "") -> Any:
    """Takes the place of the runs: every figure by `ratio`, and the set `missing` not at all."""

    def stand_in(wanted: list[FigureSet]) -> tuple[list[Outcome], dict[str, Distribution]]:
        outcomes = [
            Outcome(each, missing="no image")
            if each.id == missing
            else compare(each, {name: [value * ratio] for name, value in each.silicon.items()}, ("a note",))
            for each in wanted
        ]
        return outcomes, {"ping_pong": Distribution(2000, 10.0, 12.0, 20.0)}

    return stand_in


@pytest.mark.parametrize(
    ("words", "ratio", "status"),
    [
        (("--only=circuitpython-9.1.4",), 1.009, 0),
        (("--only=circuitpython-9.1.4",), 1.02, 1),
        (("--only=perf-bench",), 1.2, 0),
        (("--only=network-wiznet-2.0.0",), 3.0, 0),
        ((), 1.0, 0),
        ((), 0.98, 1),
    ],
)
def test_the_status_is_of_the_same_binary_alone(
    words: tuple[str, ...], ratio: float, status: int, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silicon, "_measure", measured(ratio))
    assert invoke("check", "silicon", *words).exit_code == status


def test_what_is_missing_is_one_line_and_no_fault(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silicon, "_measure", measured(1.0, missing="circuitpython-9.1.4"))
    done = invoke("check", "silicon", "--only", "circuitpython-9.1.4")
    assert done.exit_code == 0 and "skipped: no image" in done.stdout


def test_both_halves_of_the_figures_are_told(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silicon, "_measure", measured(1.02))
    said = " ".join(invoke("check", "silicon", "--only", "circuitpython-9.1.4").stdout.split())
    assert "model was chosen 0 of 4 are within 1%, of those that had no part in it 0 of 23." in said


def test_the_tables_fit_80_columns(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silicon, "_measure", measured(1.02))
    done = invoke("check", "silicon")
    assert all(len(line.rstrip()) <= 80 for line in done.stdout.splitlines())
    for each in load():
        assert each.id in done.stdout
    assert "Mandelbrot iterating 5000 times" in done.stdout and "beyond" in done.stdout


def test_reports_are_read_again_and_make_the_page(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    same_image = ("--only=circuitpython-9.1.4", "--only=micropython-1.23.0")
    for ratio, words in ((1.5, ()), (1.005, same_image)):
        monkeypatch.setattr(silicon, "_measure", measured(ratio))
        files.append(tmp_path / f"{ratio}.json")
        files[-1].write_text(invoke("check", "silicon", "--json", *words).stdout)
    monkeypatch.delattr(silicon, "_measure")
    page = tmp_path / "page.md"
    done = invoke("check", "silicon", *(f"--from={file}" for file in files), "--publish", str(page))
    assert done.exit_code == 0, done.stderr  # the later report of the set counts
    text = page.read_text()
    assert "54 of 54 figures of the same image are within 1%" in text
    assert "0 of " in text and "| bm_chaos | 215.3 | 322.9 | **1.500** |" in text
    assert "in 12 us (10 to 20 us" in text
    assert json.loads(files[0].read_text())["turnaround_us"]["ping_pong"]["count"] == 2000


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is no report"),
        ("[]", "is no report"),
        ('{"sets": 3, "turnaround_us": {}}', "is no report"),
        ('{"sets": [], "turnaround_us": {}}', "no report has circuitpython-9.1.4"),
    ],
)
def test_what_is_no_report_is_one_line(content: str, says: str, invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    done = invoke("check", "silicon", f"--from={file}")
    assert done.exit_code == 1 and says in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--only=nothing",), "'nothing' is none of circuitpython-9.1.4"),
        (("--only=perf-bench", "--publish=page.md"), "leave out --only"),
    ],
)
def test_wrong_options_are_one_line(words: tuple[str, ...], says: str, invoke: Invoke) -> None:
    done = invoke("check", "silicon", *words)
    assert done.exit_code == 2 and says in done.stderr


def test_the_sets_are_listed(invoke: Invoke) -> None:
    lines = invoke("check", "silicon", "--list").stdout.splitlines()
    assert lines[0] == "circuitpython-9.1.4: 27 figures of CircuitPython 9.1.4, same binary"
    assert len(lines) == len(load())
