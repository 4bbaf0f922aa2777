"""Standard output of the verbs that measure, where two processes share two rows: the requested data and no more."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from portbench.results import storage
from portbench.results.model import Status
from portbench.workloads import workload
from tests import patience
from tests.runner.cli.test_action import needs_command
from tests.runner.conftest import Start

pytestmark = [pytest.mark.engine, pytest.mark.slow]
TWO = ("--parallel=2", "--where=emulated", "--runs=2", "--messages=10")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder with two copies of one image."""
    folder = tmp_path / "builds"
    folder.mkdir()
    for name in ("a.uf2", "b.uf2"):
        shutil.copy(workload("ping_pong").folder / "native.uf2", folder / name)
    return folder


def test_json_is_the_run_file_alone(in_process: Start, empty: Path) -> None:
    done = in_process("run", "--runtime=portbench-native", *TWO, "--json")
    assert done.returncode == 0, done.stderr
    assert [row.status for row in storage.parse(done.stdout, Path("stdout")).rows] == [Status.MEASURED] * 2
    assert done.stdout == (empty / "results" / "latest.json").read_text()
    assert "[2/2] measured portbench-native" in done.stderr and "rank" in done.stderr


def test_images_are_compared(in_process: Start, images: Path) -> None:
    done = in_process("compare", images / "a.uf2", images / "b.uf2", *TWO, "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)
    assert told["slower"] == 0


@needs_command
def test_modules_in_the_users_folder_are_not_imported(empty: Path, environment: dict[str, str]) -> None:
    """A folder may have an inspect.py: the processes of boards and rows take Python's."""
    for name in ("inspect", "json", "multiprocessing", "portbench"):
        (empty / f"{name}.py").write_text("raise SystemExit('imported from the folder')\n")
    command = [Path(sys.executable).with_name("portbench"), "run", "--runtime=portbench-native", *TWO]
    done = patience.run(command, 120, cwd=empty, env=environment)
    assert done.returncode == 0 and "imported" not in done.stderr, done.stderr
