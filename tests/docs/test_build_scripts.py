"""The scripts that build others' programs refuse wrong calls, and leave nothing half-written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINYGO = "docs/how-to-play/tinygo/build-tinygo.sh"
SCRIPTS = {
    TINYGO: ["made"],
    "workloads/sd_card/build-published.sh": ["made"],
    "workloads/https/published/build.sh": ["rsa-2048", "Release", "made"],
}
"""With their arguments."""


def ran(script: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    clones, temporary = tmp_path / "clones", tmp_path / "tmp"
    clones.mkdir()
    temporary.mkdir()
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "CLONES": str(clones), "TMPDIR": str(temporary)}
    command = ["sh", str(ROOT / script), *words]
    return subprocess.run(command, cwd=tmp_path, env=env, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_target_the_use_is_told(script: str, tmp_path: Path) -> None:
    done = ran(script, tmp_path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    counted = "one argument" if len(SCRIPTS[script]) == 1 else "three arguments"
    assert f"{Path(script).name}: takes {counted}, " in done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_source_or_a_tool_that_is_missing_leaves_nothing(script: str, tmp_path: Path) -> None:
    done = ran(script, tmp_path, *SCRIPTS[script])
    assert done.returncode != 0
    assert "is missing; install it: apt-get install " in done.stderr or str(tmp_path / "clones") in done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["clones", "tmp"]


def test_a_folder_that_exists_is_not_replaced(tmp_path: Path) -> None:
    done = ran(TINYGO, tmp_path, str(tmp_path))
    assert done.returncode == 1 and done.stderr.endswith("exists; name a new folder, or remove it\n")
