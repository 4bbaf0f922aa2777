"""Our own boot ROM, and the programs that test it, are what their sources give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ENGINE = Path(__file__).parents[2] / "engine"
ROM = Path("rp2350/src/bootrom")
GUESTS = Path("board/tests/rp2350_guest")
COMPILER = "arm-none-eabi-gcc"
INSTALL = "apt-get install --no-install-recommends gcc-arm-none-eabi make"


@pytest.mark.parametrize(
    ("folder", "name"), [(ROM, "rom"), (GUESTS, "guest"), (GUESTS, "ping_pong")], ids=["rom", "guest", "ping_pong"]
)
def test_rebuild_gives_the_same_bytes(folder: Path, name: str, tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None or shutil.which("make") is None:
        pytest.skip(f"{COMPILER} or make is not installed; install them with: {INSTALL}")
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    recorded = (ENGINE / folder / f"{name}.compiler").read_text().strip()
    if version != recorded:
        pytest.skip(f"it was built with {recorded}, installed is {version}")
    for part in (ROM, GUESTS):
        shutil.copytree(ENGINE / part, tmp_path / part, ignore=shutil.ignore_patterns("build", "*.bin"))
    sources = tmp_path / folder
    subprocess.run(["make", "-s", "-C", tmp_path / ROM, f"NAME={name}", f"FOLDER={sources}"], check=True)
    assert (sources / f"{name}.bin").read_bytes() == (ENGINE / folder / f"{name}.bin").read_bytes()
