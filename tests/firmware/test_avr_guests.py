"""The images of the AVR guests are what their sources give."""

import json
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.building import needs_compiler
from tests.conftest import NO_ENGINE

FOLDER = Path(__file__).parents[2] / "firmware" / "avr"
GUESTS = ("fill", "ping_pong", "ping_w5100", "ping_w5200")
COMPILER = "avr-gcc"


@pytest.mark.parametrize("guest", GUESTS)
def test_an_image_has_its_record(guest: str) -> None:
    record = json.loads((FOLDER / f"{guest}.json").read_text(encoding="utf-8"))
    assert record["sha256"] == sha256((FOLDER / f"{guest}.hex").read_bytes()).hexdigest()


@pytest.mark.slow
def test_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    records = (json.loads((FOLDER / f"{guest}.json").read_text(encoding="utf-8")) for guest in GUESTS)
    install = "apt-get install --no-install-recommends gcc-avr avr-libc make"
    needs_compiler(COMPILER, *(record["compiler"] for record in records), install=install)
    command = ["make", "-s", "-C", FOLDER, f"BUILD={tmp_path / 'build'}", f"OUTPUT={tmp_path}"]
    subprocess.run(command, check=True, capture_output=True)
    for guest in GUESTS:
        assert (tmp_path / f"{guest}.hex").read_bytes() == (FOLDER / f"{guest}.hex").read_bytes()
    engine = pytest.importorskip("portbench_engine", reason=NO_ENGINE)
    for guest in GUESTS:
        mcu = "ATmega1284P" if guest.startswith("ping_w") else "ATmega2560"
        elf, hex_file = tmp_path / "build" / f"{guest}.elf", FOLDER / f"{guest}.hex"
        assert engine.flash_of_image(elf.read_bytes(), mcu) == engine.flash_of_image(hex_file.read_bytes(), mcu)
