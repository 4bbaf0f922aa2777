"""Several boards at once, as a person asks for them: complete results, one table, one run file."""

import contextlib
import os
import signal
from pathlib import Path

import psutil
import pytest

from portbench.boards import Deadline
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.results import storage
from portbench.results.model import Status
from tests import patience
from tests.runner.test_run import HOSTED, Harness

pytestmark = pytest.mark.slow
NATIVE = ("--where=emulated", "--runtime=portbench-native", "--messages=20")


@pytest.fixture
def bench(tmp_path: Path) -> Harness:
    """Boards and locks are in folders of this test."""
    harness = Harness(tmp_path)
    for variable, name in ((RUNTIME_DIR_VARIABLE, "run"), (LOCK_DIR_VARIABLE, "locks")):
        harness.environment[variable] = str(tmp_path / name)
    return harness


def rows_of(bench: Harness) -> int:
    """The number of rows so far of a run that is on."""
    return len(bench.stored().rows) if storage.run_files(bench.results) else 0


def workers(process: psutil.Process) -> list[psutil.Process]:
    """The processes that measure rows. None has a child."""
    found = [each for each in process.children() if "spawn_main" in str(each.cmdline())]
    assert not [child for each in found for child in each.children()]
    return found


@pytest.mark.engine
def test_two_emulated_boards_share_the_rows(bench: Harness, tmp_path: Path) -> None:
    """The native client's image is part of the project, so this needs no other."""
    done, run = bench.run(*NATIVE, "--runs=4", "--parallel=2"), bench.stored()
    assert done.returncode == 0, done.stdout + done.stderr
    assert run.finished_utc is not None
    assert sorted(row.run_index for row in run.rows) == [0, 1, 2, 3]
    assert {row.status for row in run.rows} == {Status.MEASURED}
    assert {row.note for row in run.rows} == {None}
    assert all(row.log and (bench.results / row.log).exists() for row in run.rows)
    assert done.stderr.count("[4/4]") == done.stdout.count("rank") == 1
    assert not (tmp_path / "run").exists()  # a row needs no board of a desk
    assert bench.run(*NATIVE, "--runs=4", "--parallel=1").returncode == 0
    figures = {row.run_index: row.simulated_figures() for row in bench.stored().rows}
    assert figures == {row.run_index: row.simulated_figures() for row in run.rows}  # simulated time knows of no others
    assert len({row.figures["total_us"] for row in run.rows}) == 4  # each with different jitter


def test_hosted_rows_use_one_server_and_take_turns(bench: Harness) -> None:
    done, run = bench.run(*HOSTED, "--messages=20", "--runs=3", "--parallel=2"), bench.stored()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row.status for row in run.rows] == [Status.MEASURED] * 3
    assert [row.run_index for row in run.rows] == [0, 1, 2]
    assert done.stdout.count("server on 127.0.0.1") == 1
    assert all(row.conditions.turnaround_us for row in run.rows)


@pytest.mark.engine
def test_no_process_outlives_the_one_that_was_started(bench: Harness) -> None:
    with bench.start(*NATIVE, "--runs=50", "--parallel=2") as process:
        limit = Deadline(60, "test")
        limit.poll(lambda: rows_of(bench) >= 1, 0.02, "a row")
        running = psutil.Process(process.pid)
        limit.poll(lambda: len(workers(running)) == 2, 0.02, "two processes")
        family = running.children(recursive=True)
    assert patience.still_alive(family, 20) == []
    run = bench.stored()
    assert run.finished_utc is None and {row.status for row in run.rows} == {Status.MEASURED}


@pytest.mark.engine
def test_ctrl_c_while_a_process_starts_prints_no_traceback(bench: Harness) -> None:
    def starting() -> psutil.Process | None:
        for each in psutil.Process(process.pid).children():
            with contextlib.suppress(psutil.Error):  # another child, which has just ended
                if "spawn_main" in str(each.cmdline()):
                    return each
        return None

    with bench.start(*NATIVE, "--runs=50", "--parallel=2") as process:
        Deadline(60, "test").poll(starting, 0.001, "a process that starts").send_signal(signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = patience.communicate(process, 90)
    assert process.returncode == 130 and "Traceback" not in said, said


@pytest.mark.engine
def test_ctrl_c_twice_keeps_what_was_measured_and_leaves_nothing(bench: Harness, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    bench.environment["TMPDIR"] = str(tmp_path / "tmp")
    with bench.start(*NATIVE, "--runs=50", "--parallel=2") as process:
        Deadline(60, "test").poll(lambda: rows_of(bench) >= 2, 0.02, "two rows")
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = patience.communicate(process, 90)
    assert process.returncode == 130 and "Traceback" not in said and "messages/s" in said, said
    assert patience.still_alive(family, 20) == []
    run = storage.read(bench.results / storage.LATEST)
    assert run == bench.stored() and len(run.rows) >= 2 and run.finished_utc is None
    assert not list((tmp_path / "tmp").iterdir())
