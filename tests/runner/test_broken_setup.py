"""A set-up that can measure nothing, and results that cannot be stored: one line, and no further row."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from portbench.boards import BrokenSetup
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.results.model import Status
from portbench.results.storage import StorageError
from portbench.runner.jobs.run import PROJECT
from tests import patience
from tests.runner.test_bench import ScriptedBoard, World
from tests.runner.test_bench import world as world
from tests.runner.test_run import HOSTED, LIMIT_S, Harness

WITHOUT_ENGINE = """
import importlib, sys
from tests import patience
class Torn:
    def find_spec(self, name, path=None, target=None):
        if name == "portbench_engine":
            raise ImportError("_native.so: file too short", name=name)
sys.meta_path.insert(0, Torn())
"""
"""With an engine whose build was broken off."""


def said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def test_without_an_engine_the_run_fails(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_ENGINE)
    harness.environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(PROJECT)])
    done = harness.run("--runtime=portbench-native", "--where=auto", "--messages=20", "--runs=3")
    missing = "its engine is missing or damaged (_native.so: file too short)"
    reason = f"the emulated board: {missing}; install Rust (rustup), then run: make build"
    assert done.returncode == 1
    assert done.stderr.count(reason) == 1 and "Traceback" not in said(done)
    run = harness.stored()
    assert [(row.status, row.reason) for row in run.rows] == [(Status.FAILED, f"open: {reason}")]
    assert run.finished_utc is None


def test_a_board_named_in_a_folder_that_cannot_be_trusted_fails_the_run(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.environment[RUNTIME_DIR_VARIABLE] = str(tmp_path / "link")
    (tmp_path / "link").symlink_to(tmp_path)
    done = harness.run("--runtime=portbench-native", "--device=usb:desk", "--runs=2")
    assert done.returncode == 1
    assert f"{tmp_path}/link: is a link" in done.stderr and len(harness.stored().rows) == 1


def limited(harness: Harness, limit_bytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A bench whose files can be no longer than that, for root as well: like a disk that fills up."""
    return patience.run(
        harness.command(*HOSTED, *arguments),
        LIMIT_S,
        cwd=PROJECT,
        env=harness.environment | {"PYTHONDONTWRITEBYTECODE": "1"},  # Python would leave a cut module for other tests
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)),
    )


def test_no_row_is_measured_that_cannot_be_stored(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    done = limited(harness, 12_000, "--messages=500", "--runs=50")
    assert done.returncode == 1, said(done)
    run = harness.stored()
    assert 1 <= len(run.rows) < 6 and run.finished_utc is None
    assert f"[{len(run.rows):>2}/50] measured" in done.stderr and f"[{len(run.rows) + 1:>2}/50]" not in done.stderr
    assert "cannot be written (File too large); make room or make it writable" in done.stderr
    assert "messages/s" in done.stdout and "Traceback" not in said(done)  # the table of stored rows


def test_a_log_that_cannot_be_written_ends_the_run(world: World) -> None:
    board = ScriptedBoard()
    world.boards = [board]
    planned = world.planned()
    log = world.folder / "results" / f"{planned.id}.log"
    log.parent.mkdir()
    log.symlink_to("/dev/full")
    with pytest.raises(StorageError, match=rf"^{log}: cannot be written \(No space left on device\); make room"):
        world.measure(planned)


def test_no_row_follows_a_broken_setup(world: World) -> None:
    broken = BrokenSetup("the runtime folder is foreign")
    world.boards = [broken]
    outcome = world.measure()
    assert outcome.fault is broken
    assert (outcome.row.status, outcome.row.reason) == (Status.FAILED, "open: the runtime folder is foreign")
