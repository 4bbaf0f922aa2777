"""Projects of people's own, outside of the checkout, with tests that use a board."""

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import patience

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "testing-your-app.md").read_text(encoding="utf-8")
OTHER_TOOLS = (PROJECT / "docs" / "other-test-tools.md").read_text(encoding="utf-8")


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


BLOCKS = blocks("python")
LIMIT_S = 300
_POINTS = ("portbench.runner.plugin", "portbench.testing.plugin")
_INSTALLED = {point.value for point in importlib.metadata.entry_points(group="pytest11")}.issuperset(_POINTS)
PLUGINS = [] if _INSTALLED else [word for name in _POINTS for word in ("-p", name)]
"""Words for a pytest that does not find portbench's plugins as installed ones."""

RunTests = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--strict-markers -p no:labgrid"\n')
    return folder


@pytest.fixture
def run_tests(project: Path) -> RunTests:
    """pytest in the project, as its owner runs it; the checkout is on no path but that of installed packages."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PORTBENCH"))
        }
        if not _INSTALLED:
            environment["PYTHONPATH"] = str(PROJECT)
        return patience.run(
            [sys.executable, "-m", "pytest", *PLUGINS, "-p", "no:cacheprovider", *arguments],
            LIMIT_S,
            cwd=project,
            env=environment | changes,
        )

    return run
