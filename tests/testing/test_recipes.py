"""docs/recipes.md as it stands, in a separate project."""

import shutil
from pathlib import Path

import pytest

from portbench.clients.libraries import driver_files
from tests.conftest import Image, libraries_or_skip
from tests.testing.conftest import PROJECT, RunTests, blocks

pytestmark = pytest.mark.engine
RECIPES = blocks("python", (PROJECT / "docs" / "recipes.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("library", "count"), [(None, 7), ("umqtt.simple", 1)])
def test_the_recipes(library: str | None, count: int, project: Path, run_tests: RunTests, image: Image) -> None:
    for number, recipe in enumerate(recipe for recipe in RECIPES if ("umqtt" in recipe) is (library is not None)):
        (project / f"test_recipe_{number}.py").write_text(recipe)
    shutil.copy(image("micropython-1.26.0"), project / "micropython.uf2")
    with libraries_or_skip():
        for content in driver_files([library] if library else [], 120).values():
            (project / "simple.py").write_bytes(content)
    done = run_tests("-q")
    assert done.returncode == 0 and f"{count} passed" in done.stdout, done.stdout + done.stderr
