"""`portbench check speed`: figures for people and programs, and targets that count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke, Start

pytest.importorskip("portbench_engine", reason="the engine is not built; run: make build")

from portbench.runner.checks.check import Finding, Target
from portbench.runner.checks.speed import check

pytestmark = pytest.mark.engine


def test_without_images_parts_are_skipped_and_the_status_says_so(start: Start) -> None:
    parts = ("loop", "circuitpython", "boards")
    done = start("check", "speed", *(f"--part={part}" for part in parts), "--json")
    reports = json.loads(done.stdout)["parts"]
    assert [(report["part"], report["findings"]) for report in reports] == [(part, []) for part in parts]
    assert all("PORTBENCH_FIRMWARE_DIR" in report["skipped"] for report in reports)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "3 of 3 parts could not be measured: loop, circuitpython, boards"
    assert "skipped" in start("check", "speed", "--part=loop").stdout


def test_a_missed_target_fails(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, status in ((150.0, 1), (0.5, 0)):
        figure = Finding("speed", 1.0, "M instr/s", Target("at least", bound))
        monkeypatch.setitem(check.PARTS, "loop", lambda speed, figure=figure: iter([figure]))
        done = invoke("check", "speed", "--part", "loop")
        assert done.exit_code == status
        assert ("speed: 1 M instr/s, not at least 150" in done.stderr) == bool(status)


def test_a_board_that_is_not_there_is_one_line(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("check", "speed", "--board", "nothing")
    assert done.exit_code == 1 and "unknown board 'nothing'" in done.stderr and done.stderr.count("\n") == 1


def test_every_part_is_listed(invoke: Invoke) -> None:
    lines = invoke("check", "speed", "--list").stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == list(check.PARTS)
    assert all(line.partition(": ")[2] for line in lines)
