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
PACKAGES = {"arm": "gcc-arm-none-eabi", "riscv": "gcc-riscv64-unknown-elf"}
COMPILERS = {"arm": "arm-none-eabi-gcc", "riscv": "riscv64-unknown-elf-gcc"}
BUILT = [
    (ROM, "rom", "arm"),
    (GUESTS, "guest", "arm"),
    *((GUESTS, name, core) for name in ("ping_pong", "compare") for core in COMPILERS),
]


@pytest.mark.parametrize(("folder", "name", "core"), BUILT, ids=[f"{name}-{core}" for _, name, core in BUILT])
def test_rebuild_gives_the_same_bytes(folder: Path, name: str, core: str, tmp_path: Path) -> None:
    compiler = COMPILERS[core]
    if shutil.which(compiler) is None or shutil.which("make") is None:
        install = f"apt-get install --no-install-recommends {PACKAGES[core]} make"
        pytest.skip(f"{compiler} or make is not installed; install them with: {install}")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    output = name if core == "arm" else f"{name}_riscv"
    recorded = (ENGINE / folder / f"{output}.compiler").read_text().strip()
    if version != recorded:
        pytest.skip(f"it was built with {recorded}, installed is {version}")
    for part in (ROM, GUESTS):
        shutil.copytree(ENGINE / part, tmp_path / part, ignore=shutil.ignore_patterns("build", "*.bin"))
    sources = tmp_path / folder
    variables = [f"CORE={core}", f"NAME={name}", f"FOLDER={sources}"]
    subprocess.run(["make", "-s", "-C", tmp_path / ROM, *variables], check=True)
    assert (sources / f"{output}.bin").read_bytes() == (ENGINE / folder / f"{output}.bin").read_bytes()
