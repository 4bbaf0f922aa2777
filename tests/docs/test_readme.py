"""The README's commands as they stand, in a folder with the files that they name."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE

ROOT = Path(__file__).parents[2]
USE = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Use\n")[2].partition("\n## ")[0]
COMMANDS = [line.partition("  #")[0] for line in re.findall(r"^    (portbench .*)$", USE, re.MULTILINE)]
SAYS = {
    "advise": r"flash micropython-1\.28\.0, the newest maintained firmware",
    "flash": r"frames sent, address 192\.168\.50\.",
    "explain": r"Where the time goes",
    "compare": r"the same",
}
"""Words of each verb's output. `desk` has a separate test; those of `run` are in tests/docs/test_commands.py."""


@pytest.fixture
def environment(tmp_path: Path, image: Image) -> dict[str, str]:
    """Two images at hand, and no internet: the newest of other families are skipped."""
    images = tmp_path / "images"
    images.mkdir()
    for runtime in ("micropython-1.26.0", "micropython-1.28.0"):
        shutil.copy(found := image(runtime), images / found.name)
    for name in ("my.uf2", "before.uf2", "after.uf2"):
        shutil.copy(NATIVE_IMAGE, tmp_path / name)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PORTBENCH"))}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PORTBENCH_FIRMWARE_DIR": str(images),
        "PORTBENCH_OFFLINE": "1",
        "PORTBENCH_RUNTIME_DIR": str(tmp_path / "run"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


def words(command: str) -> list[str]:
    return [sys.executable, "-m", *shlex.split(command)]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("command", [each for each in COMMANDS if each.split()[1] in SAYS])
def test_a_command_of_the_readme_runs(command: str, tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        words(command),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[command.split()[1]], done.stdout), done.stdout


@pytest.mark.engine
def test_the_desk_of_the_readme_runs_until_ctrl_c(tmp_path: Path, environment: dict[str, str]) -> None:
    assert "portbench desk" in map(str.strip, COMMANDS)
    with subprocess.Popen(
        words("portbench desk"), cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as desk:
        assert desk.stdout is not None
        told = next(line for line in desk.stdout if "RPI-RP2" in line)
        desk.send_signal(signal.SIGINT)
        assert told and desk.wait(timeout=120) in (0, 130)
