"""docs/testing-your-app.md as it stands, in a separate project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE
from tests.testing.conftest import BLOCKS, RunTests

pytestmark = pytest.mark.engine
NATIVE_TEST, PYTHON_TEST, PIN_TEST = BLOCKS


def test_the_ten_lines(project: Path, run_tests: RunTests) -> None:
    assert len(NATIVE_TEST.splitlines()) == 10
    (project / "test_app.py").write_text(NATIVE_TEST)
    shutil.copy(NATIVE_IMAGE, project / "app.uf2")
    done = run_tests("-q")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_python_app(project: Path, run_tests: RunTests, image: Image) -> None:
    (project / "test_main.py").write_text(PYTHON_TEST + PIN_TEST)
    shutil.copy(image("micropython-1.26.0"), project / "micropython.uf2")
    done = run_tests("-q")
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr
