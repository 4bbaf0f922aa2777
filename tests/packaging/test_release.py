"""Workflows that can run, and installation commands that give nobody's name to pip."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portbench import install
from portbench.install import engine_again, with_extra

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with labgrid")

ROOT = Path(__file__).parents[2]
OFFERED = {"ubuntu-latest", "ubuntu-24.04-arm", "macos-latest", "macos-15-intel", "windows-latest"}
"""The images that actions/runner-images offered in August 2026, of those that are used here."""
BY_NAME = re.compile(r"pip3? (?:install|download)\b[^\n`&]*?(?<![\w./@-])portbench(?:-engine)?(?![\w./-])(?! @ )")


def jobs() -> Iterator[dict[str, Any]]:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        yield from yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()


def steps() -> list[dict[str, Any]]:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return [step for job in jobs() for step in job.get("steps", [])] + action["runs"]["steps"]


def test_jobs_run_on_images_that_are_offered() -> None:
    for job in jobs():
        image = job.get("runs-on", "ubuntu-latest")
        images = job["strategy"]["matrix"]["runner"] if "matrix.runner" in image else [image]
        assert set(images) <= OFFERED


def test_actions_are_pinned_by_their_commit() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert len(used) > 20 and [name for name in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name)] == []


def test_one_job_that_builds_nothing_gives_the_files_to_the_index() -> None:
    (job,) = (job for job in jobs() for step in job.get("steps", []) if "pypi-publish" in step.get("uses", ""))
    assert job["permissions"] == {"id-token": "write"} and job["environment"] == "${{ matrix.environment }}"
    assert [each["environment"] for each in job["strategy"]["matrix"]["include"]] == ["pypi-engine", "pypi"]
    assert all("run" not in step or step["name"] == "Choose" for step in job["steps"])
    assert job["steps"][-1]["with"]["attestations"] is True and "needs" in job


def test_wheels_are_of_64_bits_and_are_tried_by_a_command_that_every_shell_reads() -> None:
    wheels = tomllib.loads((ROOT / "engine" / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    assert wheels["archs"] == "auto64" and "skip" not in wheels
    assert wheels["build"].split() == ["cp311-*", "cp314-*"] and "'" not in wheels["test-command"]


@pytest.mark.skipif(install.ON_INDEX, reason="the names are ours")
def test_no_text_gives_our_names_to_an_index() -> None:
    assert BY_NAME.search("pip install 'portbench[compare]'") and BY_NAME.search("pip install -U portbench-engine")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    skipped = {Path(install.__file__).resolve(), Path(__file__)}
    found = [
        f"{name}: {line[0]}"
        for name in listed.split("\0")
        if name.endswith((".py", ".md", ".yml", ".toml", ".j2", ".js", ".rs", ".html", "Makefile"))
        if (path := ROOT / name).resolve() not in skipped and path.is_file()
        for line in BY_NAME.finditer(path.read_text(encoding="utf-8").replace("\\\n", ""))
        if "--no-index" not in line[0]
    ]
    assert listed and found == []


def test_the_first_release_begins_the_readme() -> None:
    assert ("    pip install portbench && portbench" in (ROOT / "README.md").read_text("utf-8")) == install.ON_INDEX


def test_a_clone_names_itself_and_its_engine_where_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_again() == "install Rust (rustup), then run: make build"
    monkeypatch.setattr(install, "CLONE", tmp_path)
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "Cargo.toml").touch()
    monkeypatch.setattr(install, "_is_installed", lambda name: False)
    assert with_extra("page") == f"pip install '{tmp_path}/engine' '{tmp_path}[page]'"


@pytest.mark.parametrize(
    ("told", "extra", "engine"),
    [
        (
            {"url": "file:///tmp/some.whl", "archive_info": {}},
            "pip install 'portbench[page] @ file:///tmp/some.whl'",
            "run: pip install --force-reinstall --no-deps 'portbench-engine @ file:///tmp/some.whl'",
        ),
        (
            {"url": "file:///tmp/clone", "dir_info": {}},
            "pip install 'portbench[page] @ file:///tmp/clone'",
            "install Rust (rustup), then run: pip install --force-reinstall --no-deps"
            " 'portbench-engine @ file:///tmp/clone'",
        ),
        (
            {},
            "in a clone of portbench, run: pip install ./engine '.[page]'",
            "install Rust (rustup), then in a clone of portbench, run: pip install --force-reinstall ./engine",
        ),
    ],
    ids=["wheel", "folder", "unknown"],
)
def test_an_installed_portbench_names_what_it_came_from(
    told: dict[str, Any], extra: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "CLONE", tmp_path)
    of = SimpleNamespace(read_text=lambda name: json.dumps(told) if name == "direct_url.json" else None)
    monkeypatch.setattr(Distribution, "from_name", lambda name: of)
    assert (with_extra("page"), engine_again()) == (extra, engine)
    monkeypatch.setattr(install, "ON_INDEX", True)
    assert with_extra("page") == "pip install 'portbench[page]'"
    assert engine_again() == "run: pip install --force-reinstall --no-deps portbench-engine"
