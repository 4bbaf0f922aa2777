"""A guest that crashes is told at the desk and on the console, once, and not in the middle of a measured run."""

import os
from pathlib import Path

import pytest

from portbench.boards.console import BoundedLog
from portbench.boards.desk.config import DeskConfig
from portbench.boards.desk.process import BoardProcess
from portbench.boards.desk.serial_port import SerialPort
from portbench.boards.emulated.liveness import Complaints, Trouble
from portbench.boards.registry import PortLinks, claimed_folder
from portbench.firmware.catalogue import Family
from portbench.firmware.uf2 import flash_content
from tests.dead_images import DeadImage, write
from tests.ping_pong import EVB

pytestmark = pytest.mark.engine


def test_each_kind_is_told_once_after_each_power_up() -> None:
    said: list[str] = []
    complaints = Complaints(said.append)
    for text in ("first", "second"):
        complaints.tell(Trouble.HARD_FAULT, text)
        complaints.tell(Trouble.LOCK_UP, f"{text} lock-up")
    assert said == ["first", "first lock-up"]
    complaints.powered_up()
    complaints.tell(Trouble.HARD_FAULT, "again")
    assert said[2:] == ["again"]


@pytest.mark.parametrize("measures", [False, True])
@pytest.mark.parametrize(
    ("program", "for_us", "says"),
    [
        (DeadImage.LOCKS_UP, 50_000, "core 0 locked up at pc 0x10000280"),
        (DeadImage.RESETS, 3_000_000, "21 resets in "),
    ],
    ids=["locks up", "resets"],
)
def test_a_crash_is_told_on_the_console(
    program: DeadImage, for_us: float, says: str, measures: bool, root: Path, tmp_path: Path
) -> None:
    image = tmp_path / "dead.uf2"
    write(image, program, Family.MICROPYTHON, "1.26.0")
    with claimed_folder("d") as folder:
        notes = BoundedLog(lambda line: None)
        board = BoardProcess("d", EVB, DeskConfig(), folder, notes, flash_content(image), links=PortLinks(folder))
        try:
            board.usb.port = port = SerialPort()  # as one whose program crashed once it was on the bus
            with open(
                port.path, "rb", buffering=0, opener=lambda path, flags: os.open(path, flags | os.O_NOCTTY)
            ) as at:
                os.set_blocking(at.fileno(), False)
                board.expect_client(False, started=True, measures=measures)
                board.simulate(for_us)
                told = at.read() or b""
        finally:
            board.close()
    assert told.count(f"portbench: {says}".encode()) == (0 if measures else 1)
    assert told.count(b"\r\nportbench: ") == told.count(b"portbench:")
