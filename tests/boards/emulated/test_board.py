"""A board's run depends on its image, its client and its surroundings, and on nothing that it did before."""

from pathlib import Path

import pytest

from portbench.boards import Deadline, Deployment, RunOutput, board_definition
from portbench.boards.emulated.board import EmulatedBoard
from portbench.errors import BoardError
from portbench.firmware import uf2
from portbench.firmware.identify import Uf2File
from tests.boards.emulated.conftest import DEFINITION, client, measure, within
from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.slow


def run(board: EmulatedBoard) -> RunOutput:
    board.serve("ping_pong", {}, within())
    return board.run(within())


def same_run(one: RunOutput, two: RunOutput) -> bool:
    assert one.sim is not None and two.sim is not None
    return (one.result, one.sessions, one.sim["flash_sha256"], one.sim["counters"]) == (
        two.result,
        two.sessions,
        two.sim["flash_sha256"],
        two.sim["counters"],
    )


def test_a_fresh_boards_figures_do_not_depend_on_what_it_did_before(image: Image) -> None:
    with EmulatedBoard(DEFINITION) as board:
        first = measure(board, image("micropython-1.26.0"), "micropython")
        board.deploy(Deployment({"main.py": b"print('else')\n", "more.py": b"x" * 9000}, "micropython"), within())
        board.deploy(client(board, "micropython"), within())
        assert same_run(first, run(board))
        board.flash(Uf2File.read(image("wiznet-hardwired")), within())
        board.wait_console(within())
        assert same_run(first, measure(board, image("micropython-1.26.0"), "micropython"))


def test_console_lines_come_as_they_are_printed(image: Image) -> None:
    """The row's log has them while the run goes on."""
    board, lines = EmulatedBoard(DEFINITION), list[str]()
    board.flash(Uf2File.read(image("micropython-1.26.0")), within())
    board.wait_console(within())
    script = b"print('first')\nwhile True: pass\n"
    board.deploy(Deployment({"main.py": script}, "micropython"), within())
    with pytest.raises(BoardError):
        board.run(Deadline(2, "the run"), lines.append)
    assert lines[-1] == "first" == board.console_tail(1)[0]


def test_a_board_refuses_what_it_cannot_do() -> None:
    with EmulatedBoard(DEFINITION) as board:
        with pytest.raises(BoardError, match="nothing was deployed to run"):
            board.run(Deadline(10, "a run"))
        with pytest.raises(BoardError, match="its console has not answered yet"):
            board.deploy(Deployment({"main.py": b""}, "micropython"), within())
        board.flash(Uf2File.read(NATIVE_IMAGE), Deadline(10, "flashing"))
        assert board.console_tail() == []


@pytest.mark.parametrize("kind", ["RPI_PICO", "RPI_PICO2"])
def test_an_image_that_the_boot_loader_refuses_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "image.uf2"
    family = {"RPI_PICO": 0xE48BFF59, "RPI_PICO2": 0xE48BFF56}[kind]
    path.write_bytes(uf2.build(b"image", family_id=family))
    with EmulatedBoard(board_definition(kind)) as board, pytest.raises(BoardError, match="this one is for"):
        board.flash(Uf2File.read(path), within())
