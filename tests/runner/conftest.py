"""The command in this process, and as a person starts it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from portbench.firmware.releases import usual_index
from portbench.runner.cli import portbench
from tests import patience

LIMIT_S = 240  # a folder of images starts five processes, maybe beside many others
COMMAND = (sys.executable, "-m", "portbench")

Invoke = Callable[..., Result]
Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    """Runs a verb here, in an empty folder. Faults of ours stay tracebacks."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner(catch_exceptions=False).invoke(portbench, [*map(str, words)])


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Nothing at hand, and nothing of this machine's."""
    hidden = {"PORTBENCH_FIRMWARE_DIR", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS", "PYTHONIOENCODING"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return kept | {
        "PORTBENCH_OFFLINE": "1",
        "PORTBENCH_RUNTIME_DIR": str(tmp_path / "run"),
        "PORTBENCH_LOCK_DIR": str(tmp_path / "locks"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "COLUMNS": "160",
    }


@pytest.fixture
def start(empty: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Start:
    """Runs the command here to its end, from an empty folder and with `environment`."""
    monkeypatch.chdir(empty)
    usual_index.cache_clear()

    def run(*words: object, **changes: str) -> subprocess.CompletedProcess[str]:
        variables = dict.fromkeys(os.environ.keys() - environment.keys()) | environment | changes
        done = CliRunner(env=variables, catch_exceptions=False).invoke(portbench, [*map(str, words)])
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def in_process(empty: Path, environment: dict[str, str]) -> Start:
    """Runs the command to its end in another process, from an empty folder."""

    def run(*words: object, **changes: str) -> subprocess.CompletedProcess[str]:
        return patience.run([*COMMAND, *map(str, words)], LIMIT_S, cwd=empty, env=environment | changes)

    return run
