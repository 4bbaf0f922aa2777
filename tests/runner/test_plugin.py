"""The whole harness as a person starts it: pytest in a process of its own, on the hosted board."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.results import storage
from portbench.results.model import RunFile, Status
from portbench.runner.plugin import PROJECT

pytestmark = pytest.mark.slow

_INSTALLED = any(
    point.value == "portbench.runner.plugin" for point in importlib.metadata.entry_points(group="pytest11")
)
LIMIT_S = 60


class Harness:
    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.environment = os.environ | {
            "PORTBENCH_OFFLINE": "1",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            "COLUMNS": "200",
        }
        self.environment.pop("PORTBENCH_FIRMWARE_DIR", None)

    def command(self, *arguments: str) -> list[str]:
        plugin = [] if _INSTALLED else ["-p", "portbench.runner.plugin"]
        return [
            sys.executable,
            "-m",
            "pytest",
            *plugin,
            "-p",
            "no:cacheprovider",
            f"--results-dir={self.results}",
            *arguments,
        ]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), cwd=PROJECT, env=self.environment, capture_output=True, text=True, timeout=LIMIT_S
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=PROJECT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def stored(self) -> RunFile:
        return storage.read(self.results / "latest.json")


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


HOSTED = ("tests/bench", "--runtime=micropython-unix", "--server-port=0")


def test_measures_prints_and_stores(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--messages=300", "--runs=2")
    assert done.returncode == 0, done.stdout + done.stderr
    run = harness.stored()
    assert [row.status for row in run.rows] == [Status.MEASURED] * 2 and run.finished_utc is not None
    assert all(row.messages == 300 == len(row.round_trip_us) and row.where == "hosted" for row in run.rows)
    assert all(row.settings.turnaround_us and row.settings.turnaround_us > 0 for row in run.rows)
    assert "[2/2] measured micropython-unix hosted 2/2" in done.stdout
    assert "messages/s" in done.stdout and "server on 127.0.0.1" in done.stdout
    assert "2 passed" in done.stdout


def test_k_runtime_is_the_bench_and_nothing_else(harness: Harness) -> None:
    done = harness.run("-k", "runtime", "--collect-only", "-q")
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(collected) > 30 and all(
        line.startswith("tests/bench/test_runtime.py::test_runtime[") for line in collected
    )
    assert "tests/bench/test_runtime.py::test_runtime[micropython-1.26.0-tuned-1]" in collected
    assert not harness.results.exists()


@pytest.mark.parametrize("arguments", [[], ["tests/runner"], ["-k", "plan"]])
def test_unit_tests_are_never_mixed_with_the_bench(arguments: list[str], harness: Harness) -> None:
    done = harness.run(*arguments, "--collect-only", "-q")
    assert "tests/runner/test_plan.py::" in done.stdout and "tests/bench/test_runtime.py::" not in done.stdout


def test_a_narrower_k_narrows_the_bench(harness: Harness) -> None:
    done = harness.run("-k", "runtime and hardwired and tuned", "--runs=1", "--collect-only", "-q")
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    assert collected == ["tests/bench/test_runtime.py::test_runtime[wiznet-hardwired-tuned]"]


def test_only_skips_are_no_failure(harness: Harness) -> None:
    done = harness.run("tests/bench", "--runtime=micropython-1.20.0")
    assert done.returncode == 0
    assert {row.status for row in harness.stored().rows} == {Status.SKIPPED}
    assert done.stdout.count("provide it: curl") == 1  # told once, though six rows need it


def test_lists_what_there_is(harness: Harness) -> None:
    done = harness.run("--list-runtimes")
    assert done.returncode == 0
    assert "micropython-1.26.0" in done.stdout and "as-published, tuned" in done.stdout
    assert "boards: W5500_EVB_PICO, W5100S_EVB_PICO" in done.stdout


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--runtime=nothing-1", "--runtime: 'nothing-1' is no .uf2 file and none of micropython-1.20.0, "),
        ("--board=pico", "--board: unknown board 'pico': there are W5500_EVB_PICO, W5100S_EVB_PICO"),
    ],
)
def test_a_bad_option_is_one_line(argument: str, says: str, harness: Harness) -> None:
    done = harness.run("tests/bench", argument)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in (done.stdout + done.stderr).splitlines() if says in line]
    assert len(lines) == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr and not harness.results.exists()


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_bad_firmware_folder_is_one_line(kind: str, harness: Harness, tmp_path: Path) -> None:
    folder = tmp_path / "firmware"
    if kind == "file":
        folder.write_text("")
    harness.environment["PORTBENCH_FIRMWARE_DIR"] = str(folder)
    done = harness.run("tests/bench")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"PORTBENCH_FIRMWARE_DIR={folder}: " in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_results_folder_that_cannot_be_written_is_one_line(harness: Harness) -> None:
    harness.results.write_text("in the way")
    done = harness.run(*HOSTED)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"{harness.results}" in done.stdout + done.stderr and "Traceback" not in done.stdout + done.stderr


def test_a_port_in_use_fails_the_row(harness: Harness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = harness.run("tests/bench", "--runtime=micropython-unix", f"--server-port={port}", "--runs=1")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    reason = harness.stored().rows[0].reason
    assert reason and reason.startswith(f"open: 127.0.0.1:{port}: cannot listen: the port is in use")
    assert reason in done.stdout


def test_a_client_that_raises_fails_the_row_and_quotes_its_console(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--messages=1000000", "--runs=1")  # more round trips than its heap holds
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    row = harness.stored().rows[0]
    assert row.status is Status.FAILED and "the client failed in stage run: MemoryError" in (row.reason or "")
    assert any("Traceback" in line for line in row.console_tail)
    assert "the console's last lines:" in done.stdout and "log: " in done.stdout
    assert row.log and "MemoryError" in (harness.results / row.log).read_text()


def test_a_board_that_never_answers_fails_at_its_deadline(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--timeout-s=run=0.001", "--runs=2")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    reasons = [row.reason for row in harness.stored().rows]
    assert len(reasons) == 2 and all(
        "still waiting for the client's result line after 0.001 s" in (r or "") for r in reasons
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_the_rows_and_leaves_nothing_running(number: signal.Signals, harness: Harness) -> None:
    process = harness.start(*HOSTED, "--messages=2000", "--runs=1000")
    try:
        limit = Deadline(LIMIT_S, "test")
        assert process.stdout is not None
        while " 3/1000] measured" not in process.stdout.readline():
            limit.check("the third row")
        process.send_signal(number)
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    run = harness.stored()
    assert run.finished_utc is None
    assert len(run.rows) >= 3 and {row.status for row in run.rows} == {Status.MEASURED}
    assert "messages/s" in output  # the table of what was measured
    limit.poll(lambda: not _clients_of(harness), 0.01, "the clients' end")


def _clients_of(harness: Harness) -> list[str]:
    """Clients still running that were started with this test's environment."""
    mark = f"XDG_STATE_HOME={harness.environment['XDG_STATE_HOME']}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found
