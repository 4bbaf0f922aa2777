"""`portbench run` as a person starts it, in another process, on the hosted board."""

import os
import re
import subprocess
import sys
import textwrap
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from click.testing import CliRunner

from portbench.results import storage
from portbench.results.model import RunFile, Status
from portbench.runner.cli import portbench
from portbench.runner.jobs.run import PROJECT
from portbench.workloads import WORKLOADS_VARIABLE
from tests import patience
from tests.workloads.own import FOLDER

pytestmark = pytest.mark.slow

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
        for variable in ("PORTBENCH_FIRMWARE_DIR", WORKLOADS_VARIABLE):
            self.environment.pop(variable, None)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "portbench", "run", f"--results-dir={self.results}", *arguments]

    def run(self, *arguments: str, cwd: Path = PROJECT) -> subprocess.CompletedProcess[str]:
        return patience.run(self.command(*arguments), LIMIT_S, cwd=cwd, env=self.environment)

    def refused(self, *arguments: str, status: int = 2) -> str:
        """Return the command's error in this process, which ends before anything is measured."""
        runner = CliRunner(catch_exceptions=False, env=self.environment)
        done = runner.invoke(portbench, ["run", f"--results-dir={self.results}", *arguments])
        assert done.exit_code == status, done.output
        return done.output

    def start(self, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
        return patience.started(
            self.command(*arguments),
            cwd=PROJECT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def stored(self) -> RunFile:
        return storage.read(storage.run_files(self.results)[-1])


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


HOSTED = ("--runtime=micropython-unix",)


def test_measures_prints_and_stores(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--messages=300", "--runs=2")
    assert done.returncode == 0, done.stdout + done.stderr
    run = harness.stored()
    assert [row.status for row in run.rows] == [Status.MEASURED] * 2 and run.finished_utc is not None
    assert all(row.settings == {"messages": 300} and row.where == "hosted" for row in run.rows)
    assert all(len(row.samples["round_trip_us"]) == 300 for row in run.rows)
    assert all(row.conditions.turnaround_us and row.conditions.turnaround_us > 0 for row in run.rows)
    assert "[2/2] measured micropython-unix ping_pong 2/2" in done.stderr
    assert "messages/s" in done.stdout and "server on 127.0.0.1" in done.stdout


def test_what_a_runtime_lacks_is_a_row_and_no_failure(harness: Harness) -> None:
    """Nor is an image that is not at hand, where another row is measured."""
    rows = (*HOSTED, "--runtime=micropython-1.20.0", "--workload=ping_pong", "--workload=https_server")
    done = harness.run(*rows, "--messages=3", "--runs=1")
    assert done.returncode == 0 and done.stdout.count("curl -") == 1, done.stdout + done.stderr
    reason = "https_server is a question to boards, not to a port on a PC"
    hosted = [row for row in harness.stored().rows if row.runtime == "micropython-unix"]
    found = [(row.workload, row.status, row.reason) for row in hosted]
    assert found == [("ping_pong", Status.MEASURED, None), ("https_server", Status.UNSUPPORTED, reason)]
    assert f"] unsupported micropython-unix https_server  {reason}" in done.stderr
    others = [row for row in harness.stored().rows if row not in hosted]
    assert {row.status for row in others if row.workload == "ping_pong"} == {Status.SKIPPED}


def test_only_skips_are_a_failure(harness: Harness) -> None:
    done = harness.run("--runtime=micropython-1.20.0")
    assert done.returncode == 1 and "no row was measured: all 6 were skipped" in done.stderr
    assert {row.status for row in harness.stored().rows} == {Status.SKIPPED}
    assert done.stdout.count("curl -") == 1  # told once, though six rows need it


@pytest.mark.parametrize("variable", ["PORTBENCH_BOARDS", "PORTBENCH_CATALOGUE"])
def test_a_users_file_that_is_wrong_is_one_line(variable: str, harness: Harness, tmp_path: Path) -> None:
    mine = tmp_path / "MINE.toml"
    mine.write_text("mcu = ")
    harness.environment[variable] = str(mine)
    said = f"portbench run: {mine}: is not TOML (Invalid value (at end of document)); correct that line"
    assert harness.refused().startswith(said)


def test_a_client_that_raises_fails_the_row_and_quotes_its_console(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--messages=1000000", "--runs=1")  # more round trips than its heap holds
    assert done.returncode == 1
    row = harness.stored().rows[0]
    assert row.status is Status.FAILED and "the client failed in stage run: MemoryError" in (row.reason or "")
    assert any("Traceback" in line for line in row.console_tail)
    assert "the console's last lines:" in done.stderr and "log: " in done.stderr
    assert row.log and "MemoryError" in (harness.results / row.log).read_text()


def test_a_board_that_never_answers_fails_at_its_deadline(harness: Harness) -> None:
    done = harness.run(*HOSTED, "--setting=timeout_run_s=0.001", "--runs=2")
    assert done.returncode == 1
    reasons = [row.reason for row in harness.stored().rows]
    said = "still waiting for the client's result line after 0.001 s"
    assert len(reasons) == 2 and all(said in (reason or "") for reason in reasons)
    assert done.stderr.count(said) == 2 and said not in done.stdout, "each row is told once"


def test_a_users_workload_that_is_wrong_is_one_line(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "workload.py").write_text("raise ValueError('one\\ntwo')")
    harness.environment[WORKLOADS_VARIABLE] = str(tmp_path)
    line = (
        f"portbench run: {tmp_path}/mine/workload.py: cannot be used (ValueError: one two); see: portbench run --help"
    )
    assert harness.refused().strip() == line


def test_users_workloads_are_measured_with_ours(harness: Harness) -> None:
    """One that needs the PC and one that needs no network, after one another on one port."""
    harness.environment[WORKLOADS_VARIABLE] = str(FOLDER)
    done = harness.run(
        *HOSTED,
        "--workload=echo",
        "--workload=spin",
        "--workload=ping_pong",
        "--setting=passes=7",
        "--setting=block_bytes=3",
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
    done = harness.run(*HOSTED, "--workload=count", "--setting=passes=500", "--runs=1")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = harness.stored().rows
    assert row.workload == "count" and row.settings == {"passes": 500}
    assert row.value == 500 * 1e6 / row.figures["total_us"]
    assert "Counting: hosted" in done.stdout and "passes/s" in done.stdout
