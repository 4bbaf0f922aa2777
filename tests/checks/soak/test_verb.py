"""`portbench check soak`, for a few cycles."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Start

pytest.importorskip("portbench_engine", reason="the engine is not built; run: make build")
pytestmark = pytest.mark.engine


def test_some_cycles_with_faults_pass(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "records.txt"
    done = start(*shlex.split("check soak --cycles 8 --seed 5 --reasons"), "--record", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(line in done.stdout for line in ("hangs: 0", "lost results: 0", "leaks: 0", "8 cycles"))
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(record["number"] for record in records if record["number"] >= 0) == list(range(8))
