"""A checkout: modules are loaded from the folders that git knows, with or without symbolic links."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import portbench.boards.board
import portbench.runner.cli
import portbench.workloads.ping_pong.workload
from tests import patience

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
    said = patience.run([sys.executable, "-m", "portbench", "list"], 120, cwd=without_links)
    assert said.returncode == 0 and "portbench-native" in said.stdout, said.stderr


def test_a_package_is_not_built_from_a_checkout_without_links(without_links: Path) -> None:
    command = [sys.executable, "setup.py", "--version"]
    said = patience.run(command, 120, cwd=without_links)
    assert said.returncode == 1
    assert said.stderr.strip() == (
        "portbench: this checkout has no symbolic links, which a package is built from; run it from its folder"
        " (python -m portbench), or clone again: git clone -c core.symlinks=true"
    )


@pytest.mark.parametrize("has_cargo", [True, False])
def test_a_failed_compilation_is_hidden_only_without_a_toolchain(has_cargo: bool, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "setup.py", "Cargo.toml", "binding/Cargo.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / "engine" / name, tmp_path / name)
    programs = tmp_path / "bin"
    programs.mkdir()
    if has_cargo:
        (programs / "rustc").write_text("#!/bin/sh\necho 'rustc 1.95.0 (59807616e 2026-04-14)'\n")
        (programs / "cargo").write_text("#!/bin/sh\nexit 101\n")
        for program in programs.iterdir():
            program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("CARGO", "RUSTC")}
    done = patience.run(
        [sys.executable, "setup.py", "build_rust"], 60, cwd=tmp_path, env=environment | {"PATH": str(programs)}
    )
    assert (done.returncode == 0) is not has_cargo, done.stdout + done.stderr
