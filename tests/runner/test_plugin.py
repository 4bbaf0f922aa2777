"""The whole harness as a person starts it: pytest in a separate process, on the hosted board."""

from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.results import storage
from portbench.results.model import RunFile, Status
from portbench.runner.plugin import PROJECT, ROWS
from portbench.workloads import WORKLOADS_VARIABLE
from tests.workloads.own import FOLDER

pytestmark = pytest.mark.slow

_INSTALLED = any(point.value == "portbench.runner.entry" for point in importlib.metadata.entry_points(group="pytest11"))
LIMIT_S = 60
NODE = "portbench/runner/rows/test_rows.py::test_runtime["


class Harness:
    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.environment = os.environ | {
            "PORTBENCH_OFFLINE": "1",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            "COLUMNS": "200",
        }
        for variable in ("PORTBENCH_FIRMWARE_DIR", WORKLOADS_VARIABLE):
            self.environment.pop(variable, None)

    def command(self, *arguments: str) -> list[str]:
        plugin = [] if _INSTALLED else ["-p", "portbench.runner.entry"]
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

    def run(self, *arguments: str, cwd: Path = PROJECT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=LIMIT_S
        )

    def collected(self, *arguments: str, cwd: Path = PROJECT) -> list[str]:
        """Ids of what would run."""
        done = self.run(*arguments, "--collect-only", "-q", cwd=cwd)
        return [line for line in done.stdout.splitlines() if "::" in line]

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


HOSTED = ("-k", "runtime", "--runtime=micropython-unix", "--setting=server_port=0")


def test_measures_prints_and_stores(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--messages=300", "--runs=2")
    assert done.returncode == 0, done.stdout + done.stderr
    run = harness.stored()
    assert [row.status for row in run.rows] == [Status.MEASURED] * 2 and run.finished_utc is not None
    assert all(row.settings == {"messages": 300} and row.where == "hosted" for row in run.rows)
    assert all(len(row.samples["round_trip_us"]) == 300 for row in run.rows)
    assert all(row.conditions.turnaround_us and row.conditions.turnaround_us > 0 for row in run.rows)
    assert "[2/2] measured micropython-unix ping_pong 2/2" in done.stdout
    assert "messages/s" in done.stdout and "server on 127.0.0.1" in done.stdout
    assert "2 passed" in done.stdout


def test_k_runtime_is_the_bench_and_nothing_else(harness: Harness, tmp_path: Path) -> None:
    collected = harness.collected("-k", "runtime")
    assert len(collected) > 30 and all(line.startswith(NODE) for line in collected)
    assert f"{NODE}micropython-1.26.0-tuned-ping_pong-1]" in collected
    assert not harness.results.exists()


@pytest.mark.parametrize(
    ("arguments", "only"),
    [
        (["-k", "micropython-1.26.0-tuned", "--runs=1"], ["micropython-1.26.0-tuned-ping_pong"]),
        (["-k", "micropython-unix and not runs", "--runs=1"], ["micropython-unix-ping_pong"]),
        (["-k", "ping_pong and native", "--runs=1"], ["portbench-native-tuned-ping_pong"]),
        (["-k", "runtime and hardwired and tuned", "--runs=1"], ["wiznet-hardwired-tuned-ping_pong"]),
        (["--runtime=micropython-unix", "--runs=1"], ["micropython-unix-ping_pong"]),
        (
            ["--workload=ping_pong", "--where=hosted", "--runs=1"],
            ["micropython-unix-ping_pong", "circuitpython-blinka-ping_pong"],
        ),
        (["-m", "bench", "--runtime=micropython-unix", "--runs=1"], ["micropython-unix-ping_pong"]),
    ],
)
def test_whatever_names_rows_collects_rows_alone(arguments: list[str], only: list[str], harness: Harness) -> None:
    assert [line.rpartition("::")[2] for line in harness.collected(*arguments)] == [
        f"test_runtime[{id}]" for id in only
    ]


def test_rows_are_found_from_any_folder(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "test_of_somebody.py").write_text("def test_it(): raise AssertionError")
    ids = [line.rpartition("::")[2] for line in harness.collected("-k", "runtime", "--runs=1", cwd=tmp_path)]
    assert "test_runtime[micropython-1.26.0-tuned-ping_pong]" in ids and "test_it" not in ids
    assert harness.collected(cwd=tmp_path) == ["test_of_somebody.py::test_it"]


@pytest.mark.parametrize("path", [ROWS, ROWS.parent])
def test_the_rows_file_may_be_named(path: Path, harness: Harness) -> None:
    collected = harness.collected(str(path.relative_to(PROJECT)), "--runtime=micropython-unix", "--runs=1")
    assert [line.rpartition("::")[2] for line in collected] == ["test_runtime[micropython-unix-ping_pong]"]


@pytest.mark.parametrize("arguments", [[], ["tests/runner"], ["-k", "plan"], ["tests/runner", "-k", "runtime or plan"]])
def test_unit_tests_are_never_mixed_with_the_bench(arguments: list[str], harness: Harness) -> None:
    collected = harness.collected(*arguments)
    assert any(line.startswith("tests/runner/test_plan.py::") for line in collected)
    assert not any("test_rows.py::" in line for line in collected)


def test_only_skips_are_a_failure(harness: Harness) -> None:
    done = harness.run("--runtime=micropython-1.20.0")
    assert done.returncode == 1 and "no row was measured: all 6 were skipped" in done.stdout
    assert {row.status for row in harness.stored().rows} == {Status.SKIPPED}
    assert done.stdout.count("curl -") == 1  # told once, though six rows need it


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (
            "--runtime=nothing-1",
            "--runtime: unknown runtime or .uf2 file 'nothing-1'; choose one of micropython-1.20.0, ",
        ),
        ("--messages=0", "messages: 0 is not greater than or equal to 1 (ping_pong)"),
        ("--workload=pong", "--workload: unknown workload 'pong'; did you mean ping"),
        ("--board=pico", "--board: unknown board 'pico': there are RPI_PICO, RPI_PICO_W, W5100S_EVB_PICO"),
    ],
)
def test_a_bad_option_is_one_line(argument: str, says: str, harness: Harness) -> None:
    done = harness.run("-k", "runtime", argument)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in (done.stdout + done.stderr).splitlines() if says in line]
    assert len(lines) == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr and not harness.results.exists()


@pytest.mark.parametrize("variable", ["PORTBENCH_BOARDS", "PORTBENCH_CATALOGUE"])
def test_a_users_file_that_is_wrong_is_one_line(variable: str, harness: Harness, tmp_path: Path) -> None:
    mine = tmp_path / "MINE.toml"
    mine.write_text("mcu = ")
    harness.environment[variable] = str(mine)
    done = harness.run("-k", "runtime")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    said = (done.stdout + done.stderr).strip()
    assert said == f"ERROR: {mine}: is not TOML (Invalid value (at end of document)); correct that line"


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_bad_firmware_folder_is_one_line(kind: str, harness: Harness, tmp_path: Path) -> None:
    folder = tmp_path / "firmware"
    if kind == "file":
        folder.write_text("")
    harness.environment["PORTBENCH_FIRMWARE_DIR"] = str(folder)
    done = harness.run("-k", "runtime")
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
        done = harness.run("--runtime=micropython-unix", f"--setting=server_port={port}", "--runs=1")
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
    done = harness.run(*HOSTED, "--setting=timeout_run_s=0.001", "--runs=2")
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


@pytest.mark.parametrize("arguments", [["-k", "runtime"], ["tests/runner"]])
def test_a_users_workload_that_is_wrong_is_one_line(arguments: list[str], harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "workload.py").write_text("raise ValueError('one\\ntwo')")
    harness.environment[WORKLOADS_VARIABLE] = str(tmp_path)
    done = harness.run(*arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    line = f"ERROR: {tmp_path}/mine/workload.py: cannot be used (ValueError: one two)"
    assert (done.stdout + done.stderr).strip() == line


def test_users_workloads_are_measured_with_ours(harness: Harness) -> None:
    """One that needs the PC and one that needs no network, after one another on one port."""
    harness.environment[WORKLOADS_VARIABLE] = str(FOLDER)
    done = harness.run(
        *HOSTED,
        "--workload=echo",
        "--workload=spin",
        "--workload=ping_pong",
        "--setting=passes=7",
        "--block-bytes=3",
        "--runs=2",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.stored().rows
    assert [(row.workload, row.run_index) for row in rows] == [
        (name, run) for name in ("echo", "spin", "ping_pong") for run in (0, 1)
    ]
    assert {row.status for row in rows} == {Status.MEASURED}
    echo, spin = rows[0], rows[2]
    assert echo.settings == {"block_bytes": 3, "blocks": 10} and len(echo.samples["block_us"]) == 10
    assert echo.conditions.turnaround_us and echo.headline is not None and echo.headline.name == "bytes_per_s"
    assert spin.settings == {"passes": 7, "backwards": False} and spin.conditions.turnaround_us is None
    titles = [line for line in ("Echo: hosted", "Spinning: hosted", "Ping-pong: hosted") if line in done.stdout]
    assert len(titles) == 3 and "bytes/s" in done.stdout and "total ms" in done.stdout
    assert len({row.log for row in rows}) == 6


def test_the_page_leads_to_a_workload_of_ones_own(harness: Harness, tmp_path: Path) -> None:
    """workloads/README.md, followed to the letter in a separate folder."""
    page = (PROJECT / "workloads" / "README.md").read_text(encoding="utf-8")
    script, body = (textwrap.dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", page, re.S | re.M))
    own = tmp_path / "own" / "count"
    own.mkdir(parents=True)
    (own / "workload.py").write_text(script)
    (own / "micropython.py").write_text(body)
    harness.environment[WORKLOADS_VARIABLE] = str(tmp_path / "own")
    done = harness.run(
        "--runtime=micropython-unix", "--workload=count", "--setting=passes=500", "--runs=1", "--setting=server_port=0"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = harness.stored().rows
    assert row.workload == "count" and row.settings == {"passes": 500}
    assert row.value == 500 * 1e6 / row.figures["total_us"]
    assert "Counting: hosted" in done.stdout and "passes/s" in done.stdout
