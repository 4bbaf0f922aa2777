"""`portbench check speed`: figures for people and programs, and targets that count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke, Start

pytest.importorskip("portbench._engine", reason="the engine is not built; run: make build")

from portbench.runner.checks.speed import measure
from portbench.runner.checks.speed.figures import Figure, Target


def test_without_images_parts_are_skipped(start: Start) -> None:
    done = start("check", "speed", *("--part=loop", "--part=circuitpython", "--part=boards"), "--check", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    assert [figure["value"] for figure in figures] == [None] * 3
    assert all("PORTBENCH_FIRMWARE_DIR" in figure["note"] for figure in figures)
    assert "skipped" in start("check", "speed", "--part=loop").stdout


def test_check_fails_for_a_missed_target(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    missed = Figure("speed", 1.0, "M instr/s", Target("at least", 150))
    monkeypatch.setitem(measure.PARTS, "loop", lambda session: iter([missed]))
    assert invoke("check", "speed", "--part", "loop").exit_code == 0
    assert invoke("check", "speed", "--part", "loop", "--check").exit_code == 1


def test_a_board_that_is_not_there_is_one_line(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("check", "speed", "--board", "nothing")
    assert done.exit_code == 1 and "unknown board 'nothing'" in done.stderr and done.stderr.count("\n") == 1


def test_the_help_names_every_part(invoke: Invoke) -> None:
    said = " ".join(invoke("check", "speed", "--help").output.split())
    *parts, last = measure.PARTS
    assert f"only {', '.join(parts)} or {last} (repeatable)" in said
