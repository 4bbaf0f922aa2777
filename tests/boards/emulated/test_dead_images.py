"""Images that nothing will ever come of: each is given up in seconds, with the reason."""

from pathlib import Path

import pytest

from portbench.boards import BoardError, Deadline, Deployment
from portbench.boards.emulated.board import EmulatedBoard
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Uf2File
from tests.boards.emulated.guests import NEVER_ANSWERS_USB, erases_itself, poking
from tests.dead_images import PROGRAMS, DeadImage, banner, build
from tests.ping_pong import EVB

SELECTS_ONCE = poking(
    (0x4001_408C, 5),  # GPIO17, CSn, to SIO
    (0xD000_0024, 1 << 17),  # driven, and low
    (0xD000_0014, 1 << 17),  # high
)
"""Speaks to the chip of a W5500-EVB-Pico once, and never again."""
LIMIT_S = 600
"""Limit of host time: the result must come from simulated time long before."""


def boot(program: tuple[int, ...], folder: Path, says: str) -> None:
    board, deadline, path = EmulatedBoard(EVB), Deadline(LIMIT_S, "test"), folder / "dead.uf2"
    path.write_bytes(build(program, banner(Family.MICROPYTHON)))
    board.flash(Uf2File.read(path), deadline)
    with pytest.raises(BoardError, match=says):
        board.wait_console(deadline)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            DeadImage.STANDS_STILL,
            r"the image has run for \d+ s of simulated time without attaching to USB; it is not for this board, stops"
            r" at its start, or has its console on a UART, which portbench flash shows",
        ),
        (DeadImage.LOCKS_UP, r"stopped: core 0 locked up at pc 0x10000280"),
        (DeadImage.RESETS, r"stopped: 21 resets in \d\.\d s of simulated time and nothing on the console; the last: "),
    ],
    ids=lambda value: value if isinstance(value, DeadImage) else "",
)
def test_a_dead_image_is_given_up(program: DeadImage, says: str, tmp_path: Path) -> None:
    boot(PROGRAMS[program], tmp_path, says)


def test_an_image_that_attaches_and_never_enumerates_is_said_to(tmp_path: Path) -> None:
    says = (
        r": the image attached to USB, but the PC could not enumerate it in \d+ s of simulated time"
        r" \(SET_ADDRESS: the device did not answer three times in a row\); it does not serve USB, or not in time$"
    )
    boot(NEVER_ANSWERS_USB, tmp_path, says)


def test_an_image_that_erases_itself_is_said_to(tmp_path: Path) -> None:
    says = r"without attaching to USB.*; the program has erased 4 KiB of its image, from 0x10000000"
    boot(erases_itself(), tmp_path, says)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        # As an image for a board with other pins.
        (PROGRAMS[DeadImage.STANDS_STILL], "no SPI frame for the W5500 in 8 s of simulated time: "),
        (
            SELECTS_ONCE,
            "no SPI frame for the W5500 for 15 s of simulated time: what runs on the board hangs",
        ),
    ],
    ids=["never", "once"],
)
def test_a_client_that_does_not_speak_to_its_chip_is_given_up(
    program: tuple[int, ...], says: str, tmp_path: Path
) -> None:
    one, deadline = EmulatedBoard(EVB), Deadline(LIMIT_S, "test")
    (tmp_path / "dead.uf2").write_bytes(build(program, banner(Family.NATIVE)))
    one.flash(Uf2File.read(tmp_path / "dead.uf2"), deadline)
    one.deploy(Deployment({}, "native"), deadline)
    one.serve("ping_pong", {"messages": 5}, deadline)
    with pytest.raises(BoardError) as caught:
        one.run(deadline)
    assert str(caught.value).partition(": stopped: ")[2].startswith(says)
