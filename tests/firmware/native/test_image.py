"""The committed image: what the bootrom checks, where its code runs, and that a rebuild gives the same bytes."""

import json
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from portbench.firmware import uf2
from tests.building import needs_compiler
from tests.firmware.native import BOARDS, PROJECT
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.slow

BOARD = BOARDS / "W5500_EVB_PICO.toml"
RECORD = json.loads(NATIVE_IMAGE.with_suffix(".json").read_text())
COMPILER = "arm-none-eabi-gcc"


def flash() -> bytes:
    (content,) = uf2.read(NATIVE_IMAGE).flash_bytes().values()
    return content


def reversed_bits(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


def test_second_stage_checksum() -> None:
    """The bootrom's CRC-32 is zlib's with all bits the other way round and without the final inversion."""
    boot2 = flash()[:256]
    mirrored = bytes(reversed_bits(byte, 8) for byte in boot2[:252])
    expected = reversed_bits(zlib.crc32(mirrored) ^ 0xFFFF_FFFF, 32)
    assert struct.unpack_from("<I", boot2, 252)[0] == expected


def test_vector_table() -> None:
    stack, reset = struct.unpack_from("<2I", flash(), 256)
    assert stack == 0x2004_2000
    assert reset & 1
    assert 0x1000_0100 < reset < 0x1000_0000 + len(flash())


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of a copy of the sources in another place."""
    needs_compiler(COMPILER, RECORD["compiler"])
    tree = tmp_path_factory.mktemp("rebuild")
    for part in ("firmware", "workloads"):
        shutil.copytree(PROJECT / part, tree / part, ignore=shutil.ignore_patterns("build", "__pycache__", "*.uf2"))
    made = ["make", "-s", "-C", tree / "firmware" / "native", f"PYTHON={sys.executable}", f"BOARD={BOARD}"]
    subprocess.run(made, check=True)
    return tree


def test_rebuild_gives_the_same_bytes(rebuilt: Path) -> None:
    image = rebuilt / "workloads" / "ping_pong" / "native.uf2"
    assert image.read_bytes() == NATIVE_IMAGE.read_bytes()
    assert json.loads(image.with_suffix(".json").read_text()) == RECORD


def test_everything_but_the_start_up_code_runs_from_sram(rebuilt: Path) -> None:
    listing = subprocess.run(
        ["arm-none-eabi-nm", rebuilt / "firmware" / "native" / "build" / "rp2040" / "native.elf"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    code = {name: int(address, 16) for address, kind, name in map(str.split, listing.splitlines()) if kind in "tT"}
    in_flash = {name for name, address in code.items() if 0x1000_0000 <= address < 0x1400_0000}
    assert in_flash == {"reset", "fatal"}
    assert {"main", "body_run", "hard_fault", "w5500_write", "bootrom_unique_id"} <= code.keys() - in_flash
