"""Two runs on emulated boards give the same figures, to the last picosecond that is written down."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from tests.emulated.conftest import Prepared, result_of, within

pytestmark = pytest.mark.engine

ROWS = [
    ("portbench-native", "native"),
    ("wiznet-hardwired", "wiznet"),
    ("micropython-1.26.0", "micropython"),
    ("circuitpython-9.1.4", "circuitpython"),
]


def figures(prepared: Prepared, entry: str, family: str) -> dict[str, Any]:
    board = prepared(entry, family, messages=20)
    output = board.run(within(120))
    result = result_of(output)
    assert "error" not in result, result
    assert output.sim is not None
    return {
        "result": result,
        "flash": output.sim["flash_sha256"],
        "counters": output.sim["counters"],
        "sessions": output.sessions,
    }


@pytest.mark.parametrize(("entry", "family"), ROWS)
def test_two_fresh_boards_give_the_same_figures(prepared: Prepared, entry: str, family: str) -> None:
    assert figures(prepared, entry, family) == figures(prepared, entry, family)


def test_a_loaded_machine_changes_nothing(prepared: Prepared) -> None:
    quiet = figures(prepared, "portbench-native", "native")
    burn = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        loaded = figures(prepared, "portbench-native", "native")
    finally:
        for process in burn:
            process.kill()
            process.wait()
    assert loaded == quiet
