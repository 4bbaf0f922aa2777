"""A checkout: modules are loaded from the folders that git knows, with or without symbolic links."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import portbench.boards.board
import portbench.runner.cli
import portbench.workloads.ping_pong.workload

PROJECT = Path(__file__).parents[2]
LINKS = ("boards", "clients", "firmware", "results", "runner", "server", "workloads")


def test_modules_have_the_paths_that_git_knows() -> None:
    for module, path in (
        (portbench.boards.board, "boards/board.py"),
        (portbench.runner.cli, "runner/cli/__init__.py"),
        (portbench.workloads.ping_pong.workload, "workloads/ping_pong/workload.py"),
    ):
        assert Path(str(module.__file__)) == PROJECT / path


@pytest.fixture
def without_links(tmp_path: Path) -> Path:
    """A checkout as git makes it where there are no symbolic links: each is a small text file."""
    left_out = shutil.ignore_patterns(".*", "target", "build", "__pycache__", "*.egg-info", "tests", "docs", "engine")
    shutil.copytree(PROJECT, tmp_path / "checkout", symlinks=True, ignore=left_out)
    (tmp_path / "checkout" / "engine").mkdir()
    shutil.copy(PROJECT / "engine" / "Cargo.toml", tmp_path / "checkout" / "engine")
    for name in LINKS:
        link = tmp_path / "checkout" / "portbench" / name
        link.unlink()
        link.write_text(f"../{name}")
    return tmp_path / "checkout"


def test_a_checkout_without_links_runs(without_links: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "portbench", "list"], cwd=without_links, capture_output=True, text=True, check=False
    )
    assert said.returncode == 0 and "portbench-native" in said.stdout, said.stderr


def test_a_package_is_not_built_from_a_checkout_without_links(without_links: Path) -> None:
    command = [sys.executable, "setup.py", "--version"]
    said = subprocess.run(command, cwd=without_links, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert said.stderr.strip() == (
        "portbench: this checkout has no symbolic links, which a package is built from; run it from its folder"
        " (python -m portbench), or clone again: git clone -c core.symlinks=true"
    )
