"""Several boards at once, as a person asks for them: complete results, one table, one run file."""

import contextlib
import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from portbench.boards import Deadline
from portbench.results import storage
from portbench.results.model import RunFile, Status
from portbench.runner.jobs.run import PROJECT
from tests import patience

pytestmark = pytest.mark.slow


def start(folder: Path, *arguments: str, **changes: str) -> AbstractContextManager[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "portbench", "run", "--messages=20"]
    command += [f"--results-dir={folder / 'results'}", *arguments]
    environment = os.environ | {
        "PORTBENCH_OFFLINE": "1",
        "PORTBENCH_RUNTIME_DIR": str(folder / "run"),
        "PORTBENCH_LOCK_DIR": str(folder / "locks"),
        "COLUMNS": "200",
    }
    return patience.started(
        command,
        cwd=PROJECT,
        env=environment | changes,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def stored(folder: Path) -> RunFile | None:
    """The newest run, which may be on."""
    runs = storage.run_files(folder / "results")
    return storage.read(runs[-1]) if runs else None


def bench(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], RunFile | None]:
    with start(folder, *arguments) as process:
        said, _ = patience.communicate(process, 110)
    return subprocess.CompletedProcess(process.args, process.returncode, said, ""), stored(folder)


def workers(process: psutil.Process) -> list[psutil.Process]:
    """The processes that measure rows. None has a child."""
    found = [each for each in process.children() if "spawn_main" in str(each.cmdline())]
    assert not [child for each in found for child in each.children()]
    return found


@pytest.mark.engine
def test_two_emulated_boards_share_the_rows(tmp_path: Path) -> None:
    """The native client's image is part of the project, so this needs no other."""
    done, run = bench(tmp_path, "--where=emulated", "--runtime=portbench-native", "--runs=4", "--parallel=2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert run is not None and run.finished_utc is not None
    assert sorted(row.run_index for row in run.rows) == [0, 1, 2, 3]
    assert {row.status for row in run.rows} == {Status.MEASURED}
    by_themselves = bench(
        tmp_path / "one", "--where=emulated", "--runtime=portbench-native", "--runs=4", "--parallel=1"
    )
    assert by_themselves[1] is not None
    figures = {row.run_index: row.simulated_figures() for row in by_themselves[1].rows}
    assert figures == {row.run_index: row.simulated_figures() for row in run.rows}  # simulated time knows of no others
    assert len({row.figures["total_us"] for row in run.rows}) == 4  # each with different jitter
    assert {row.note for row in run.rows} == {None}
    assert all(row.log and (tmp_path / "results" / row.log).exists() for row in run.rows)
    assert done.stdout.count("[4/4]") == done.stdout.count("rank") == 1
    assert not (tmp_path / "run").exists()  # a row needs no board of a desk


def test_hosted_rows_use_one_server_and_take_turns(tmp_path: Path) -> None:
    done, run = bench(tmp_path, "--runtime=micropython-unix", "--runs=3", "--parallel=2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert run is not None and [row.status for row in run.rows] == [Status.MEASURED] * 3
    assert [row.run_index for row in run.rows] == [0, 1, 2]
    assert done.stdout.count("server on 127.0.0.1") == 1
    assert all(row.conditions.turnaround_us for row in run.rows)


@pytest.mark.engine
def test_no_process_outlives_the_one_that_was_started(tmp_path: Path) -> None:
    arguments = ("--where=emulated", "--runtime=portbench-native", "--runs=50", "--parallel=2")
    with start(tmp_path, *arguments) as process:
        limit = Deadline(60, "test")
        limit.poll(lambda: (run := stored(tmp_path)) is not None and len(run.rows) >= 1, 0.02, "a row")
        running = psutil.Process(process.pid)
        limit.poll(lambda: len(workers(running)) == 2, 0.02, "two processes")
        family = running.children(recursive=True)
    assert patience.still_alive(family, 20) == []
    run = stored(tmp_path)
    assert run is not None and run.finished_utc is None and {row.status for row in run.rows} == {Status.MEASURED}


@pytest.mark.engine
def test_ctrl_c_while_a_process_starts_prints_no_traceback(tmp_path: Path) -> None:
    def starting() -> psutil.Process | None:
        for each in psutil.Process(process.pid).children():
            with contextlib.suppress(psutil.Error):  # another child, which has just ended
                if "spawn_main" in str(each.cmdline()):
                    return each
        return None

    arguments = ("--where=emulated", "--runtime=portbench-native", "--runs=50", "--parallel=2")
    with start(tmp_path, *arguments) as process:
        Deadline(60, "test").poll(starting, 0.001, "a process that starts").send_signal(signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = patience.communicate(process, 90)
    assert process.returncode == 130 and "Traceback" not in said, said


@pytest.mark.engine
def test_ctrl_c_twice_keeps_what_was_measured_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    arguments = ("--where=emulated", "--runtime=portbench-native", "--runs=50", "--parallel=2")
    with start(tmp_path, *arguments, TMPDIR=str(tmp_path / "tmp")) as process:
        limit = Deadline(60, "test")
        limit.poll(lambda: (run := stored(tmp_path)) is not None and len(run.rows) >= 2, 0.02, "two rows")
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = patience.communicate(process, 90)
    assert process.returncode == 130 and "Traceback" not in said and "messages/s" in said, said
    assert patience.still_alive(family, 20) == []
    run = storage.read(tmp_path / "results" / storage.LATEST)
    assert run == stored(tmp_path) and len(run.rows) >= 2 and run.finished_utc is None
    assert not list((tmp_path / "tmp").iterdir())
