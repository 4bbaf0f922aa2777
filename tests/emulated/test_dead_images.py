"""Images that nothing will ever come of: each is given up in seconds, with the reason."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards import BoardError, Deadline, Deployment
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware.catalogue import Family
from portbench.runner.soak.foreign import Foreign, write
from tests.ping_pong import EVB

pytestmark = pytest.mark.engine

LIMIT_S = 600
"""Of host time: what is asked for has to come from simulated time long before."""


def image(folder: Path, foreign: Foreign, family: Family = Family.MICROPYTHON) -> Path:
    path = folder / "dead.uf2"
    write(path, foreign, family, "1.26.0")
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
        (
            Foreign.STANDS_STILL,
            r"the image has run for \d+ s of simulated time without attaching to USB; it is not for this board",
        ),
        (Foreign.LOCKS_UP, r"stopped: core 0 locked up at pc 0x10000280"),
        (Foreign.RESETS, r"stopped: 21 resets in \d\.\d s of simulated time and nothing on the console; the last: "),
    ],
    ids=lambda value: value if isinstance(value, Foreign) else "",
)
def test_a_dead_image_is_given_up(
    program: Foreign, says: str, board: Callable[[], EmulatedBoard], tmp_path: Path
) -> None:
    with pytest.raises(BoardError, match=says):
        board().flash(image(tmp_path, program), Deadline(LIMIT_S, "test"))


def test_a_client_that_never_speaks_to_its_chip_is_given_up(board: Callable[[], EmulatedBoard], tmp_path: Path) -> None:
    """As an image for a board with other pins: the native client's place is taken by a program that does nothing."""
    one, deadline = board(), Deadline(LIMIT_S, "test")
    one.flash(image(tmp_path, Foreign.STANDS_STILL, Family.NATIVE), deadline)
    one.deploy(Deployment({}, "native"), deadline)
    one.serve("ping_pong", {"messages": 5}, deadline)
    with pytest.raises(BoardError, match="stopped: no SPI frame for the W5500 in 5 s of simulated time"):
        one.run(deadline)
