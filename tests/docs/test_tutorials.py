"""The tutorials' commands as they stand, in an empty folder with only the files that the page names."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests import patience
from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE
from tests.testing.conftest import LIMIT_S, PLUGINS

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"


def follow(page: str, folder: Path, images: Path | None = None) -> str:
    """Return the output of the page's commands; each must end with status 0. A Python file's name comes before it."""
    text = (TUTORIALS / page).read_text(encoding="utf-8")
    for name, content in re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL):
        (folder / name).write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:labgrid -p no:cacheprovider\n")
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for command, words in (("portbench", "portbench"), ("pytest", " ".join(["pytest", *PLUGINS]))):
        script = bin_folder / command
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {words} "$@"\n')
        script.chmod(0o755)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 1, "a tutorial has its commands in one block"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PORTBENCH"))}
    done = patience.run(
        ["bash", "-ec", blocks[0]],
        LIMIT_S,
        cwd=folder,
        env=kept
        | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
        | ({"PORTBENCH_FIRMWARE_DIR": str(images)} if images else {}),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_tutorial_is_followed_here() -> None:
    assert {page.stem for page in TUTORIALS.glob("*.md")} == {"maker", "maintainer", "app"}


@pytest.mark.engine
def test_a_maintainer_compares_two_builds(tmp_path: Path) -> None:
    for name in ("before.uf2", "after.uf2"):
        shutil.copy(NATIVE_IMAGE, tmp_path / name)
    said = follow("maintainer.md", tmp_path)
    assert "the same" in said and "Where the time goes" in said


@pytest.mark.engine
def test_a_maker_chooses_boots_and_measures(tmp_path: Path, image: Image) -> None:
    said = follow("maker.md", tmp_path, image("micropython-1.28.0").parent)
    assert "flash micropython-1.28.0, MicroPython's newest release as of " in said
    assert "MicroPython v1.28.0" in said and re.search(r"1 +micropython-1.28.0 +tuned", said)
    times = re.search(r"Settings make micropython-1.28.0 ([\d.]+) times", said)
    assert times is not None and round(float(times[1])) == 39  # as the page says


@pytest.mark.engine
def test_an_app_developer_tests_without_a_board(tmp_path: Path, image: Image) -> None:
    assert "1 passed" in follow("app.md", tmp_path, image("micropython-1.28.0").parent)
