"""Our own boot ROM, and the programs that test it, are what their sources give."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.building import needs_compiler

pytestmark = pytest.mark.slow

ENGINE = Path(__file__).parents[2] / "engine"
ROM = Path("rp/src/rp2350/bootrom")
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
    output = name if core == "arm" else f"{name}_riscv"
    recorded = (ENGINE / folder / f"{output}.compiler").read_text().strip()
    needs_compiler(COMPILERS[core], recorded, install=f"apt-get install --no-install-recommends {PACKAGES[core]} make")
    for part in (ROM, GUESTS):
        shutil.copytree(ENGINE / part, tmp_path / part, ignore=shutil.ignore_patterns("build", "*.bin"))
    sources = tmp_path / folder
    variables = [f"CORE={core}", f"NAME={name}", f"FOLDER={sources}"]
    subprocess.run(["make", "-s", "-C", tmp_path / ROM, *variables], check=True)
    assert (sources / f"{output}.bin").read_bytes() == (ENGINE / folder / f"{output}.bin").read_bytes()
