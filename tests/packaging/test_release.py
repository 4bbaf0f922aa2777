"""Workflows that can run, and installation commands that give pip no name that is not ours."""

import json
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portbench import install
from portbench.install import engine_again, with_extra
from tests import patience

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with labgrid")

ROOT = Path(__file__).parents[2]
OFFERED = {"ubuntu-latest", "ubuntu-24.04-arm", "macos-latest", "macos-15-intel", "windows-latest"}
"""The images that actions/runner-images offered in August 2026, of those that are used here."""
BY_NAME = r"pip3? (?:install|download)\b[^\n`&]*?(?<![\w./@-])portbench(?:-engine)?(?![\w./-])(?! @ )"


def jobs() -> Iterator[dict[str, Any]]:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        yield from yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()


def test_jobs_run_on_images_that_are_offered() -> None:
    for job in jobs():
        image = job.get("runs-on", "ubuntu-latest")
        images = job["strategy"]["matrix"]["runner"] if "matrix.runner" in image else [image]
        assert set(images) <= OFFERED


def test_the_job_that_may_publish_gives_away_what_others_built() -> None:
    (job,) = (job for job in jobs() if "pypi-publish" in str(job))
    assert job["permissions"] == {"id-token": "write"} and job["needs"] == "wheels"
    assert [each["environment"] for each in job["strategy"]["matrix"]["include"]] == ["pypi-engine", "pypi"]
    assert job["steps"][-1]["with"]["attestations"] is True


def test_wheels_are_of_64_bits_and_are_tried_by_a_command_that_every_shell_reads() -> None:
    wheels = tomllib.loads((ROOT / "engine" / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    assert wheels["archs"] == "auto64" and "skip" not in wheels
    assert wheels["build"].split() == ["cp311-*", "cp314-*"] and "'" not in wheels["test-command"]


@pytest.mark.skipif(install.ON_INDEX, reason="the names are ours")
def test_no_text_gives_our_names_to_an_index() -> None:
    for told in ("pip install 'portbench[compare]'", "python3 -m pip install -U portbench-engine"):
        assert re.search(BY_NAME, told)
    apart = [":!portbench/install.py", ":!tests/packaging/test_release.py"]
    done = patience.run(["git", "grep", "-nIP", BY_NAME, "--", *apart], 120, cwd=ROOT)
    assert (done.stdout, done.returncode) == ("", 1), done.stderr  # 1: nothing was found


def test_the_first_release_begins_the_readme() -> None:
    assert ("    pip install portbench && portbench" in (ROOT / "README.md").read_text("utf-8")) == install.ON_INDEX


def test_a_clone_names_itself_and_its_engine_where_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_again() == "install Rust (rustup), then run: make build"
    monkeypatch.setattr(install, "CLONE", tmp_path)
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "Cargo.toml").touch()
    monkeypatch.setattr(install, "_origin", lambda name: None)
    assert with_extra("page") == f"pip install '{tmp_path}/engine' '{tmp_path}[page]'"


@pytest.mark.parametrize(
    ("told", "source", "rust"),
    [
        ({"url": "file:///some.whl", "archive_info": {}}, " @ file:///some.whl", ""),
        ({"url": "file:///clone", "dir_info": {}}, " @ file:///clone", "install Rust (rustup), then "),
    ],
)
def test_an_installed_portbench_names_what_it_came_from(
    told: dict[str, Any], source: str, rust: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "CLONE", tmp_path)
    of = SimpleNamespace(read_text=lambda name: json.dumps(told) if name == "direct_url.json" else None)
    monkeypatch.setattr(Distribution, "from_name", lambda name: of)
    again = "run: pip install --force-reinstall --no-deps 'portbench-engine"
    assert (with_extra("page"), engine_again()) == (f"pip install 'portbench[page]{source}'", f"{rust}{again}{source}'")
    monkeypatch.setattr(install, "ON_INDEX", True)
    assert (with_extra("page"), engine_again()) == ("pip install 'portbench[page]'", f"{again}'")
