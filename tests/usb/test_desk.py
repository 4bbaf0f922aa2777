"""An emulated board that stays, measured on by its name as one that is plugged in."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.boards.emulated.control import ControlClient
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, read_state
from portbench.boards.usb.bus import EmulatedBus, is_emulated
from portbench.results.model import Status
from tests.ping_pong import EVB
from tests.runner.test_run import LIMIT_S, Harness

pytestmark = pytest.mark.engine
NATIVE = ("--runtime=portbench-native", "--messages=20", "--device=usb:desk")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a board that runs."""
    with tempfile.TemporaryDirectory(prefix="pbd-") as folder:  # short, as sockets' names are
        monkeypatch.setenv(RUNTIME_DIR_VARIABLE, folder)
        command = [sys.executable, "-m", "portbench.boards.emulated", "--name", "desk"]
        board = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            Deadline(LIMIT_S, "test").poll(lambda: EmulatedBus().devices(), 0.01, "the board on its bus")
            yield Path(folder, "desk")
        finally:
            board.terminate()
            board.wait(LIMIT_S)


def test_native_rows_on_a_named_board_follow_each_other(desk: Path, tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    done = harness.run(*NATIVE, "--runs=3")
    rows = harness.stored().rows
    assert done.returncode == 0, done.stdout
    assert [(row.status, row.where) for row in rows] == [(Status.MEASURED, "emulated")] * 3


def test_a_board_that_is_off_the_bus_is_waited_for(desk: Path, tmp_path: Path) -> None:
    """A board whose native client another process started."""
    client = ControlClient(desk, "desk")
    away = {"kind": "serial-dropped", "when": "now", "duration_ms": 5000}
    client.call("arm", Deadline(LIMIT_S, "test"), fault=away)
    Deadline(LIMIT_S, "test").poll(lambda: not EmulatedBus().devices(), 0.01, "the board to leave its bus")
    assert is_emulated("usb:desk", EVB) and is_emulated(f"usb:emulated:{desk}", EVB)
    assert not is_emulated("usb:table", EVB) and not is_emulated("auto", EVB)
    harness = Harness(tmp_path)
    done = harness.run(*NATIVE, "--runs=1")
    assert done.returncode == 0, done.stdout
    assert [row.where for row in harness.stored().rows] == ["emulated"]
    client.close()
    assert read_state(desk) is not None


def test_a_failed_row_on_a_named_board_is_an_emulated_one(desk: Path, tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    done = harness.run(*NATIVE, "--runs=2", "--setting=timeout_flash_s=0.001")
    rows = harness.stored().rows
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert [(row.status, row.where) for row in rows] == [(Status.FAILED, "emulated")] * 2
