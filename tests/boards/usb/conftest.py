"""Fake boards that are put away after the test, and steps on them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.usb.bus import Target
from portbench.boards.usb.link import LOCK_DIR_VARIABLE, Link, Power
from tests.boards.usb.fake_board import FakeBoard

DEFINITION = board_definition("W5500_EVB_PICO")


@pytest.fixture(autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOCK_DIR_VARIABLE, str(tmp_path_factory.mktemp("locks")))


@pytest.fixture
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., FakeBoard]]:
    made: list[FakeBoard] = []

    def make(**settings: object) -> FakeBoard:
        board = FakeBoard(tmp_path_factory.mktemp("board"), **settings)  # type: ignore[arg-type]
        made.append(board)
        return board

    yield make
    for board in made:
        board.close()


@pytest.fixture
def deadline() -> Deadline:
    return Deadline(60, "test")


def link_to(board: FakeBoard, log: list[str] | None = None, power: Power | None = None) -> Link:
    target = Target(board, lambda devices: devices[0] if devices else None)
    lines = [] if log is None else log
    return Link(DEFINITION, "fake board", target, power=power, poll_s=0.01, log=lines.append)


def small_image(folder: Path, text: bytes = b"") -> Path:
    """A UF2 image for the RP2040 whose content says `text`."""
    from portbench.firmware.uf2 import build_ranges

    path = folder / "image.uf2"
    path.write_bytes(build_ranges({0x10000000: text.ljust(256, b"\0")}))
    return path


MICROPYTHON = b"\0MicroPython v1.26.0 on 2025-08-09\0"
CIRCUITPYTHON = b"\0Adafruit CircuitPython 9.1.4 on 2024-09-17; W5500-EVB-Pico with rp2040\0"
