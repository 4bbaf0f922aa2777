"""docs/testing-your-app.md as it stands, in a separate project."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests import patience
from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE
from tests.testing.conftest import BLOCKS, LIMIT_S, OTHER_TOOLS, PROJECT, RunTests, blocks

pytestmark = pytest.mark.engine
NATIVE_TEST, PYTHON_TEST, PIN_TEST, MANY_TESTS, COVER_TEST = BLOCKS


def test_the_python_apps(project: Path, run_tests: RunTests, image: Image) -> None:
    (project / "test_main.py").write_text(PYTHON_TEST + PIN_TEST)
    (project / "test_many.py").write_text(MANY_TESTS)
    (project / "test_cover.py").write_text(COVER_TEST)
    (project / "main.py").write_text("import sensor\nprint(sensor.read())\n")
    (project / "sensor.py").write_text("# one\ndef read():\n    return 1\n")
    shutil.copy(image("micropython-1.26.0"), project / "micropython.uf2")
    done = run_tests("-q", PORTBENCH_FIRMWARE_DIR=str(image("micropython-1.28.0").parent))
    assert done.returncode == 0 and "13 passed" in done.stdout, done.stdout + done.stderr


def test_the_workflow_to_copy_runs_the_ten_lines(project: Path, run_tests: RunTests) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; it comes with labgrid")
    (workflow,) = blocks("yaml")
    steps = yaml.safe_load(workflow)["jobs"]["test"]["steps"]
    (test,) = (step["run"] for step in steps if "run" in step)
    (given,) = (step["with"] for step in steps if step.get("uses", "").startswith("portbench/portbench@v"))
    assert given == {"extras": "test"}
    assert len(NATIVE_TEST.splitlines()) == 10
    (project / "test_app.py").write_text(NATIVE_TEST)
    (project / "test_wrong.py").write_text(NATIVE_TEST.replace('b"13"', 'b"12"'))
    shutil.copy(NATIVE_IMAGE, project / "app.uf2")
    command, *options = shlex.split(test)
    done = run_tests(*options)
    assert command == "pytest" and done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout
    (kept,) = (step["with"]["path"] for step in steps if step.get("if") == "failure()")
    assert {path.name for path in (project / kept).rglob("board.*")} >= {"board.console.txt", "board.pcap"}


@pytest.mark.skipif(
    importlib.util.find_spec("pytest_embedded_serial") is None,
    reason="pytest-embedded is not installed: pip install pytest-embedded-serial",
)
def test_pytest_embedded_meets_a_board_on_the_desk(project: Path, image: Image) -> None:
    (test,), (commands,) = blocks("python", OTHER_TOOLS), blocks("sh", OTHER_TOOLS)
    (project / "test_prompt.py").write_text(test)
    bin_folder = project / "bin"
    bin_folder.mkdir()
    for name in ("portbench", "pytest"):
        (bin_folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        (bin_folder / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PORTBENCH"))}
    paths = {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH")))),
        "PORTBENCH_FIRMWARE_DIR": str(image("micropython-1.28.0").parent),
    }
    done = patience.run(["bash", "-ec", commands], LIMIT_S, cwd=project, env=kept | paths)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
