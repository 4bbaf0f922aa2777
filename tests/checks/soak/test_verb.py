"""`portbench check soak`, for a few cycles."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Start

pytest.importorskip("portbench._engine", reason="the engine is not built; run: make build")


def test_some_cycles_with_faults_pass(start: Start) -> None:
    done = start("check", "soak", "--cycles", 8, "--seed", 5, "--reasons", "--records", "records.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(line in done.stdout for line in ("hangs: 0", "lost results: 0", "leaks: 0", "8 cycles"))
