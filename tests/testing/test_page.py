"""docs/testing-your-app.md, docs/other-test-tools.md and docs/recipes.md as they stand, in a separate project."""

import shlex
import shutil
from pathlib import Path

import pytest

from portbench.clients.libraries import driver_files
from portbench.errors import BoardError
from tests.conftest import Image, libraries_or_skip
from tests.ping_pong import NATIVE_IMAGE
from tests.testing.conftest import BLOCKS, OTHER_TOOLS, PROJECT, RunTests, blocks

pytestmark = pytest.mark.engine
RECIPES = blocks("python", (PROJECT / "docs" / "recipes.md").read_text(encoding="utf-8"))
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


def test_a_dut_of_pytest_embedded_is_an_emulated_board(project: Path, run_tests: RunTests, image: Image) -> None:
    pytest.importorskip("pytest_embedded.dut", reason="pexpect needs pty here")
    path = image("micropython-1.28.0")
    (project / "pyproject.toml").unlink()  # it turns the plugin off
    (test,), (command,) = blocks("python", OTHER_TOOLS), blocks("sh", OTHER_TOOLS)
    (project / "test_prompt.py").write_text(test)
    program, *options = shlex.split(command)
    done = run_tests("-p", "no:labgrid", *options, PORTBENCH_FIRMWARE_DIR=str(path.parent))
    assert program == "pytest" and "1 passed" in done.stdout, done.stdout + done.stderr
    shutil.copy(path, project / "app.uf2")
    (project / "test_two.py").write_text(
        "def test_two(dut):\n"
        "    for each in dut:\n"
        '        assert each.expect([b"no", rb">>> "], timeout=20)\n'
        "    assert dut[0].board.time_us == dut[1].board.time_us\n"
        '    dut[1].expect("never", timeout=0.25)\n'
    )
    said = run_tests("-p", "no:labgrid", "--embedded-services", "portbench", "--count", "2", "test_two.py").stdout
    assert 'Not found "never"' in said and "more on the console did not come within 0.25 s of simulated time" in said


def test_the_image_is_the_only_one_of_the_folder_and_its_build(tmp_path: Path) -> None:
    pytest.importorskip("pytest_embedded.dut", reason="pexpect needs pty here")
    from portbench.testing.embedded import BoardApp

    with pytest.raises(BoardError, match=r"^--app-path: \S+ has 0 \.uf2 files; name one, or a runtime$"):
        BoardApp(str(tmp_path))
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "app.uf2").touch()
    assert BoardApp(str(tmp_path), "build").image == str(tmp_path / "build" / "app.uf2")
    assert BoardApp("micropython-1.28.0").image == "micropython-1.28.0"


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
