"""Images that nothing will ever come of: each is given up in seconds, with the reason."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards import BoardError, Deadline, Deployment
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware import uf2
from tests.ping_pong import EVB, NATIVE_IMAGE

pytestmark = pytest.mark.engine

FLASH = 0x1000_0000
PROGRAM, HANDLER = FLASH + 0x200, FLASH + 0x280
STACK = 0x2004_0000
BANNER = b"\0MicroPython v1.26.0 on 2025-08-09\0; W5500-EVB-Pico with RP2040\0"
STOP = [0xE7FE]  # B .
LOCK_UP = [0xBE00]  # BKPT, and again in its handler
RESET = [0x4801, 0x4902, 0x6001, 0xE7FE, 0xED0C, 0xE000, 0x0004, 0x05FA]  # AIRCR: VECTKEY, SYSRESETREQ
LIMIT_S = 600
"""Of host time: what is asked for has to come from simulated time long before."""


def image(folder: Path, program: list[int], says: bytes = BANNER) -> Path:
    """Our boot stage 2, a vector table and `program`, which is its own handler of all that goes wrong."""
    boot2 = next(iter(uf2.read(NATIVE_IMAGE).ranges().values()))[:256]
    vectors = struct.pack("<48I", STACK, PROGRAM | 1, *([HANDLER | 1] * 46)).ljust(PROGRAM - FLASH - 256, b"\xff")
    code = struct.pack(f"<{len(program)}H", *program).ljust(HANDLER - PROGRAM, b"\xff")
    handler = struct.pack("<H", LOCK_UP[0]).ljust(0x80, b"\xff")
    path = folder / "dead.uf2"
    path.write_bytes(uf2.build(boot2 + vectors + code + handler + says.ljust(256, b"\0")))
    return path


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], EmulatedBoard]]:
    made: list[EmulatedBoard] = []
    with tempfile.TemporaryDirectory(prefix="pbl-") as folder:  # short, as sockets' names are
        monkeypatch.setenv(RUNTIME_DIR_VARIABLE, folder)

        def make() -> EmulatedBoard:
            made.append(EmulatedBoard(EVB))
            return made[-1]

        yield make
        for each in made:
            each.close()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (STOP, r"the image has run for \d+ s of simulated time without attaching to USB; it is not for this board"),
        (LOCK_UP, r"stopped: core 0 locked up at pc 0x10000280"),
        (RESET, r"stopped: 21 resets in \d\.\d s of simulated time and nothing on the console; the last: "),
    ],
    ids=["stands still", "locks up", "resets"],
)
def test_a_dead_image_is_given_up(
    program: list[int], says: str, board: Callable[[], EmulatedBoard], tmp_path: Path
) -> None:
    with pytest.raises(BoardError, match=says):
        board().flash(image(tmp_path, program), Deadline(LIMIT_S, "test"))


def test_a_client_that_never_speaks_to_its_chip_is_given_up(board: Callable[[], EmulatedBoard], tmp_path: Path) -> None:
    """As an image for a board with other pins: the native client's place is taken by a program that does nothing."""
    one, deadline = board(), Deadline(LIMIT_S, "test")
    one.flash(image(tmp_path, STOP, b"portbench-native"), deadline)
    one.deploy(Deployment({}, "native"), deadline)
    one.serve("ping_pong", {"messages": 5}, deadline)
    with pytest.raises(BoardError, match="stopped: no SPI frame for the W5500 in 5 s of simulated time"):
        one.run(deadline)
