"""Desks with real firmware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from portbench.boards import Deployment, board_definition
from portbench.boards.desk.board import DeskBoard
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware.identify import Uf2File
from tests.conftest import Image
from tests.emulated.conftest import within

Started = Callable[[str, str, dict[str, bytes]], DeskBoard]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: Image) -> Iterator[Started]:
    """Starts desks with an image of a family, and these files on it."""
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path / "run"))
    with ExitStack() as stack:

        def start(runtime: str, family: str, files: dict[str, bytes]) -> DeskBoard:
            path = image(runtime)
            board = stack.enter_context(DeskBoard.started(board_definition("W5500_EVB_PICO")))
            board.flash(Uf2File.read(path), within())
            board.wait_console(within())
            board.deploy(Deployment(files, family), within(120))
            return board

        yield start
