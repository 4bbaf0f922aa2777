"""mpflash itself, with portbench's backend, on a desk's board and on a real one that a pseudo-terminal plays."""

import os
import shlex
import sys
from pathlib import Path

import pytest
from mpflash.errors import MPFlashError
from mpflash.flash import flash_mcu, select_backend
from mpflash.mpremoteboard import MPRemoteBoard

from portbench.boards.desk.config import DeskConfig
from portbench.boards.usb.discovery import SystemBus
from tests import patience
from tests.boards.desk.conftest import desk, root  # noqa: F401  (a fixture)
from tests.boards.usb.conftest import CIRCUITPYTHON, MICROPYTHON, own_locks, small_image  # noqa: F401
from tests.boards.usb.fake_board import FakeBoard
from tests.conftest import Image

SHOWN = "mpflash flash --volume /run/user/1000/portbench/desk/RPI-RP2 --board RPI_PICO --version 1.26.1"
PROGRAM = """
import sys
from pathlib import Path
from mpflash.cli_main import mpflash
from mpflash.custom.add import add_firmware
from mpflash.db.core import migrate_database
from mpflash.mpremoteboard import MPRemoteBoard

run = MPRemoteBoard.run_command
MPRemoteBoard.run_command = lambda self, command, **more: run(self, command, **more | {"timeout": 200})
migrate_database(boards=True, firmwares=True)
image, *sys.argv = sys.argv[1:]
about = {"board_id": "RPI_PICO", "version": "v1.26.1", "port": "rp2", "firmware_file": "rp2/image.uf2", "build": 0}
assert add_firmware(Path(image), about | {"custom_id": "", "description": "", "source": ""})
mpflash()
"""
"""mpflash with the image at hand, as after its first download, and more patient than its 2 s for a question."""


@pytest.mark.engine
def test_mpflash_flashes_a_desk(root: Path, image: Image, tmp_path: Path) -> None:  # noqa: F811
    path = image("micropython-pico-1.26.1")
    words = shlex.split(SHOWN.replace("/run/user/1000/portbench", str(root)))
    with desk(tmp_path / "flash.bin", DeskConfig(), "--links"):
        variables = os.environ | {"COLUMNS": "160", "MPFLASH_FIRMWARE": str(tmp_path)}
        done = patience.run([sys.executable, "-c", PROGRAM, path, *words], 240, env=variables)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "micropython 1.26.1 answers, on Raspberry Pi Pico with RP2040" in said, said
    assert "v1.26.1" in said.partition("Updated boards after flashing")[2]


def test_mpflash_flashes_a_real_board_and_keeps_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = FakeBoard(tmp_path)
    monkeypatch.setattr(SystemBus, "devices", lambda self: board.devices())
    monkeypatch.setattr(MPRemoteBoard, "get_mcu_info", lambda self: None)
    (tmp_path / "tty").symlink_to(str(board.port))
    mcu = MPRemoteBoard(str(tmp_path / "tty"))
    mcu.port, mcu.board = "rp2", "W5500_EVB_PICO"
    good = small_image(tmp_path, MICROPYTHON)
    try:
        assert flash_mcu(mcu, fw_file=good) is mcu and board.flashed == good.read_bytes()
        assert mcu.serialport == board.port
        with pytest.raises(MPFlashError, match=r"^[^\n]*should be USB 2e8a:1029, but 2e8a:0005 came back$"):
            flash_mcu(mcu, fw_file=small_image(tmp_path, CIRCUITPYTHON))
        for mcu.serialport, mcu.board in ((str(board.port), "PIMORONI_TINY2040"), ("/dev/ttyX0", "RPI_PICO")):
            assert select_backend(mcu, good).name == "uf2"
    finally:
        board.close()
