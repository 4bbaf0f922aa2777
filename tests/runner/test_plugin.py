"""pytest's way to rows, in a process as a person starts it, and other people's projects, which it leaves alone."""

import importlib.metadata
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace

import pytest

from portbench.results import storage
from portbench.results.model import Status
from portbench.runner.jobs.run import PROJECT
from portbench.runner.plugin import Rows
from tests import patience
from tests.results.rows import missing

pytestmark = pytest.mark.slow

_INSTALLED = any(point.name == "portbench" for point in importlib.metadata.entry_points(group="pytest11"))
_LIMIT_S = 120
HOSTED = "--runtime micropython-unix --messages 300"


class Pytest:
    """Runs pytest in an empty folder, or in the project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "theirs"
        self.folder.mkdir()
        self.results = folder / "results"
        hidden = ("PORTBENCH_FIRMWARE_DIR", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        self.environment = kept | {
            "PORTBENCH_OFFLINE": "1",
            "PYTHONPATH": str(PROJECT),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            "COLUMNS": "160",
        }

    def __call__(
        self, *words: str, options: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        plugin = [] if _INSTALLED else ["-p", "portbench.runner.plugin"]
        rows = [] if options is None else [f"--portbench={options} --results-dir={self.results}"]
        # labgrid's fixture `target` would take that of pytest-embedded, and skip each test.
        command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-p", "no:labgrid", *rows, *words]
        return patience.run(command, _LIMIT_S, cwd=cwd or self.folder, env=self.environment)

    def collected(self, *words: str, options: str | None = None, cwd: Path | None = None) -> list[str]:
        """Names of what would run."""
        done = self(*words, "--collect-only", "-q", options=options, cwd=cwd)
        return [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]


@pytest.fixture
def run_pytest(tmp_path: Path) -> Pytest:
    return Pytest(tmp_path)


def test_rows_are_measured_told_and_stored(run_pytest: Pytest) -> None:
    (run_pytest.folder / "test_theirs.py").write_text("def test_runtime_of_theirs():\n    assert False\n")
    done = run_pytest("--junitxml=junit.xml", options=f"{HOSTED} --runs 2")
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr
    run = storage.read(run_pytest.results / "latest.json")
    assert [row.status for row in run.rows] == [Status.MEASURED] * 2 and run.finished_utc is not None
    assert all(row.settings == {"messages": 300} for row in run.rows)
    assert "[2/2] measured micropython-unix ping_pong 2/2" in done.stderr and "messages/s" in done.stdout
    first, _ = ElementTree.parse(run_pytest.folder / "junit.xml").iter("testcase")
    assert first.attrib["name"] == "micropython-unix-ping_pong-1"
    told = {each.attrib["name"]: each.attrib["value"] for each in first.iter("property")}
    assert told == {"unit": "messages/s", **{name: str(value) for name, value in run.rows[0].figures.items()}}


def test_only_what_is_selected_is_measured(run_pytest: Pytest) -> None:
    done = run_pytest("-k", "ping_pong-2", options=f"{HOSTED} --runs 3")
    assert done.returncode == 0 and "1 passed, 2 deselected" in done.stdout, done.stdout + done.stderr
    (row,) = storage.read(run_pytest.results / "latest.json").rows
    assert row.run_index == 1


def test_a_failed_row_is_told_once_and_a_skipped_one_by_the_table(run_pytest: Pytest) -> None:
    rows = "--runtime micropython-unix --runtime micropython-1.20.0 --profile hosted --profile tuned"
    done = run_pytest(options=f"{rows} --runs 1 -s timeout_run_s=0.001")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED and "1 failed, 1 skipped" in done.stdout
    said = done.stdout + done.stderr
    assert said.count("still waiting for the client's result line") == 1 and "log: " in done.stdout
    assert said.count("curl -") == 1
    done = run_pytest(options=f"{rows} --runs 1 --messages 300 --require all")
    assert done.returncode == 1 and "is required, and was skipped" in done.stdout and "1 passed" in done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--runtime nothing-1", "unknown runtime or .uf2 file 'nothing-1'; see: portbench list runtimes"),
        ("--runs 0", "--portbench: Invalid value for '--runs': 0 is not in the range 1<=x<=1000"),
        ("--board 'pico", "No closing quotation"),
    ],
)
def test_a_wrong_option_is_one_line(options: str, says: str, run_pytest: Pytest) -> None:
    done = run_pytest(options=options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert len([line for line in (done.stdout + done.stderr).splitlines() if says in line]) == 1
    assert "Traceback" not in done.stdout + done.stderr and not run_pytest.results.exists()


def test_rows_are_not_shared_by_workers_of_xdist(run_pytest: Pytest) -> None:
    done = run_pytest("-n", "2", options=HOSTED)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR and "leave out -n" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("expression", "row"),
    [
        ("ping_pong and native", "portbench-native-tuned-ping_pong-1"),
        ("runtime and hardwired and tuned", "wiznet-hardwired-tuned-ping_pong-1"),
    ],
)
def test_in_this_project_k_with_a_row_is_rows_alone(expression: str, row: str, run_pytest: Pytest) -> None:
    found = run_pytest.collected("-k", expression, cwd=PROJECT)
    assert row in found and all("-ping_pong-" in each for each in found)


def test_in_this_project_tests_that_are_named_are_tests_alone(run_pytest: Pytest) -> None:
    found = run_pytest.collected("tests/runner/test_plan.py", "-k", "runtime", cwd=PROJECT)
    assert found and all(each.startswith("test_") for each in found)


THEIRS = """
import sys

def test_server(request): pass
def test_http(request): pass
def test_ready(request): pass
def test_many(request): pass
def test_runtime(request):
    assert not [name for name in sys.modules if name.startswith("portbench.") and "testing" not in name
        and name not in ("portbench.runner", "portbench.runner.plugin")]
    assert "pydantic" not in sys.modules and "portbench_engine" not in sys.modules
"""


def test_a_failed_row_has_its_consoles_last_lines() -> None:
    rows, planned = Rows.__new__(Rows), SimpleNamespace(label="a row")
    rows._run = SimpleNamespace(log_of=lambda row: "x.log")  # type: ignore[assignment]
    failed = missing("x", "failed", "no link").model_copy(update={"console_tail": ["one", "two"]})
    told = rows.report_of(planned, failed)  # type: ignore[arg-type]
    assert told == "a row: no link\nthe console's last lines:\n  one\n  two\nlog: x.log"


def test_another_project_is_left_alone(run_pytest: Pytest) -> None:
    (run_pytest.folder / "test_theirs.py").write_text(THEIRS)
    (run_pytest.folder / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--board')\n    parser.addoption('--runtime')\n"
    )
    words = "server or http or ready or many or runtime"
    # pytest-embedded, which our tests have, warns in each project.
    done = run_pytest("-k", words, "-W", "error", "-p", "no:pytest_embedded", "--strict-markers", "--board=theirs")
    assert done.returncode == 0 and "5 passed" in done.stdout, done.stdout + done.stderr
    assert "bench" not in run_pytest("--markers").stdout
    told = run_pytest("--help")
    assert told.returncode == 0 and told.stdout.count("--portbench=") == 1
