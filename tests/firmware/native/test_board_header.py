"""The native firmware's wiring comes from its board's file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import patience
from tests.firmware.native import BOARDS, BODY, SOURCES

SCRIPT = SOURCES / "board_header.py"
EVB = (BOARDS / "W5500_EVB_PICO.toml").read_text(encoding="utf-8")


def make_header(folder: Path, board: str) -> subprocess.CompletedProcess[str]:
    (folder / "MINE.toml").write_text(board, encoding="utf-8")
    command = [sys.executable, str(SCRIPT), "MINE.toml", "made.h"]
    return patience.run(command, 30, cwd=folder)


def test_every_pin_is_the_boards(tmp_path: Path) -> None:
    other = re.sub(r"(\w+_pin) = (\d+)", lambda found: f"{found[1]} = {29 - int(found[2])}", EVB)
    assert make_header(tmp_path, other).returncode == 0
    found = dict(re.findall(r"#define PIN_(\w+) (\d+)u", (tmp_path / "made.h").read_text()))
    card = {"SD_SCK": "19", "SD_MOSI": "18", "SD_MISO": "17", "SD_CSN": "16"}
    assert found == {"SCK": "11", "MOSI": "10", "MISO": "13", "CSN": "12", "RSTN": "9", "INTN": "8", **card}


def test_the_sources_hold_no_pin_but_the_led_and_where_the_chip_has_its_adc() -> None:
    sources = [*SOURCES.rglob("*.[ch]"), *BODY.glob("*.[ch]"), SOURCES / "crt0.S"]
    assert [name for path in sources for name in re.findall(r"#define PIN_(\w+)", path.read_text())] == ["LED", "ADC0"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('chip = "W5500"', 'chip = "W5100S"', "network.chip is 'W5100S'; the native firmware needs 'W5500'"),
        ('bus = "spi0"', 'bus = "spi1"', "network.bus is 'spi1'; the native firmware needs 'spi0'"),
        ('mcu = "RP2040"', 'mcu = "RP9"', "mcu is 'RP9'; the native firmware needs 'RP2040' or 'RP2350'"),
        ("2_097_152", "1_048_576", "flash_bytes is 1048576; the native firmware needs 2097152"),
        ("sck_pin = 18", "", "sck_pin is absent; add it"),
        ("[network]", "[net]", "network.chip is None; the native firmware needs 'W5500'"),
        ("[network]", "[network", "MINE.toml: is not TOML (Expected ']'"),
    ],
)
def test_a_board_that_it_cannot_run_on_is_refused_in_one_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    done = make_header(tmp_path, EVB.replace(old, new))
    assert done.returncode == 1 and not (tmp_path / "made.h").exists()
    assert done.stderr.startswith("board_header.py: ") and says in done.stderr and done.stderr.count("\n") == 1
