"""Two boards that share a switch and run in a thread."""

from __future__ import annotations

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.emulated.simulation import PS_PER_S
from portbench.firmware.uf2 import flash_content
from tests.peers.two_boards import two_boards
from tests.ping_pong import NATIVE_IMAGE


@pytest.mark.engine
def test_another_thread_asks_for_the_time_while_the_pair_runs() -> None:
    """It has the interpreter and waits for the board, whose thread waits for the interpreter."""
    board, deadline = board_definition("W5500_EVB_PICO"), Deadline(120.0, "boards")
    with two_boards(board, flash_content(NATIVE_IMAGE, board.flash_bytes)) as boards:
        while boards[1].time_ps < PS_PER_S // 50:
            deadline.check("20 ms of simulated time")
