"""A board with an RP2350 and without the chip's boot ROM: ours starts its programs, and a stand-in is its drive."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.boards.usb.bus import is_bootloader
from portbench.firmware import uf2, uf2_families
from portbench.firmware.identify import Uf2File
from tests.boards.emulated.conftest import within

pytestmark = pytest.mark.engine

PICO2 = board_definition("RPI_PICO2")
LOOP = struct.pack("<7IH", 0x2000_1000, 0x1000_001D, 0xFFFF_DED3, 0x1021_0142, 0x1FF, 0, 0xAB12_3579, 0xE7FE)
"""Vector table, image definition, and a branch to itself."""


@pytest.fixture
def board(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskBoard]:
    for variable in ("PORTBENCH_BOOTROM_RP2350", "PORTBENCH_FIRMWARE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    # The engine's cache: of XDG, and on macOS of HOME.
    for variable in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "empty"))
    with DeskBoard.started(PICO2, None, f"--keep-flash={tmp_path / 'flash.bin'}") as made:
        yield made


def test_an_image_on_the_stand_in_starts(board: DeskBoard, tmp_path: Path) -> None:
    device = board.link.device()
    assert device is not None and is_bootloader(device, PICO2)
    path = tmp_path / "loop.uf2"
    path.write_bytes(uf2.build(LOOP, family_id=uf2_families.RP2350))
    board.flash(Uf2File.read(path), within())
    written = LOOP.ljust(256, b"\xff")
    within().poll(lambda: (tmp_path / "flash.bin").read_bytes().startswith(written), 0.02, "the flash's file")
    assert board.link.device() is None  # the program has no USB

    board.cycle(within(), bootsel=True)
    board.link.wait_device(lambda device: is_bootloader(device, PICO2), within(), "the boot loader")
