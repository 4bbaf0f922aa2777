"""The images of the AVR guests are what their sources give."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE

FOLDER = Path(__file__).parents[2] / "firmware" / "avr"
GUESTS = ("fill", "ping_pong", "ping_w5100", "ping_w5200")
COMPILER = "avr-gcc"
INSTALL = "apt-get install --no-install-recommends gcc-avr avr-libc make"


@pytest.mark.parametrize("guest", GUESTS)
def test_an_image_has_its_record(guest: str) -> None:
    record = json.loads((FOLDER / f"{guest}.json").read_text(encoding="utf-8"))
    assert record["sha256"] == sha256((FOLDER / f"{guest}.hex").read_bytes()).hexdigest()


@pytest.mark.slow
def test_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None or shutil.which("make") is None:
        pytest.skip(f"{COMPILER} or make is not installed; install them with: {INSTALL}")
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    recorded = {json.loads((FOLDER / f"{guest}.json").read_text(encoding="utf-8"))["compiler"] for guest in GUESTS}
    if recorded != {version}:
        pytest.skip(f"they were built with {', '.join(sorted(recorded))}, installed is {version}")
    command = ["make", "-s", "-C", FOLDER, f"BUILD={tmp_path / 'build'}", f"OUTPUT={tmp_path}"]
    subprocess.run(command, check=True, capture_output=True)
    for guest in GUESTS:
        assert (tmp_path / f"{guest}.hex").read_bytes() == (FOLDER / f"{guest}.hex").read_bytes()
    engine = pytest.importorskip("portbench_engine", reason=NO_ENGINE)
    for guest in GUESTS:
        mcu = "ATmega1284P" if guest.startswith("ping_w") else "ATmega2560"
        elf, hex_file = tmp_path / "build" / f"{guest}.elf", FOLDER / f"{guest}.hex"
        assert engine.flash_of_image(elf.read_bytes(), mcu) == engine.flash_of_image(hex_file.read_bytes(), mcu)
