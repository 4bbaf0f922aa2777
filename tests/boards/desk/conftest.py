"""Desks with real firmware."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from portbench.boards import Deployment, board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.boards.desk.config import CONFIG, DeskConfig
from portbench.boards.desk.started import StartedDesk
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware.identify import Uf2File
from tests.boards.emulated.conftest import within
from tests.conftest import Image

Started = Callable[[str, str, dict[str, bytes]], DeskBoard]


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of all desks, for this test alone."""
    with tempfile.TemporaryDirectory(prefix="pbd-") as folder:  # short, as sockets' names are
        monkeypatch.setenv(RUNTIME_DIR_VARIABLE, folder)
        yield Path(folder)


@contextmanager
def desk(flash: Path, config: DeskConfig, *options: str, board: str = "RPI_PICO") -> Iterator[StartedDesk]:
    """A desk by the name of `desk` that runs; it keeps its flash in the file `flash`."""
    told = CONFIG.dump_json(config).decode()
    with closing(StartedDesk(board, told, "desk", ["--keep-flash", str(flash), *options])) as started:
        started.wait()
        yield started


@pytest.fixture
def started(root: Path, image: Image) -> Iterator[Started]:
    """Starts desks with an image of a family, and these files on it."""
    with ExitStack() as stack:

        def start(runtime: str, family: str, files: dict[str, bytes]) -> DeskBoard:
            path = image(runtime)
            board = stack.enter_context(DeskBoard.started(board_definition("W5500_EVB_PICO")))
            board.flash(Uf2File.read(path), within())
            board.wait_console(within())
            board.deploy(Deployment(files, family), within(120))
            return board

        yield start
