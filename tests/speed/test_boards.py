"""Starts and memory of an emulated board, and eight boards at once."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import psutil
import pytest

from portbench.boards import Deadline
from portbench.boards.desk.board import DeskBoard
from portbench.firmware.uf2 import flash_content
from tests.conftest import Image
from tests.ping_pong import EVB
from tests.speed.loop import LIMIT_S, MICROPYTHON, Figure, LoopBoard, LoopSpeed

pytestmark = pytest.mark.engine
CIRCUITPYTHON: Final = "circuitpython-9.1.4"
ITERATIONS: Final = 100_000
MOST_MIB: Final = 64
MEBI: Final = 1 << 20


@pytest.mark.speed
def test_circuitpython_to_its_prompt(image: Image, figure: Figure) -> None:
    """The first start formats its drive."""
    board = LoopBoard(image(CIRCUITPYTHON), EVB)
    for occasion in ("first start", "again"):
        cpu_s = board.start(Deadline(LIMIT_S, occasion))
        note = f"{board.simulation.time_us / 1e6:.2f} s on the chip"
        figure(f"{CIRCUITPYTHON} to its prompt: {occasion}", cpu_s, "s", below=2, note=note)
        board.simulation.power_up()


def test_memory_of_one_board(image: Image, figure: Figure, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(flash_content(image(MICROPYTHON), EVB.flash_bytes))
    with DeskBoard.started(EVB, None, f"--flash={flash}") as board:
        board.wait_console(Deadline(LIMIT_S, "one board"))
        assert board.pid is not None
        board_bytes = psutil.Process(board.pid).memory_info().rss
    note = "at its prompt"
    figure("one board: memory of its process", board_bytes / MEBI, "MiB", below=MOST_MIB, note=note)


def at_once(path: Path, count: int) -> tuple[int, float, list[LoopSpeed]]:
    """The memory that each board adds to this process, the host's seconds for all loops, and the loops."""
    deadline = Deadline(LIMIT_S, f"{count} boards at once")
    process = psutil.Process()
    before_bytes = process.memory_info().rss
    boards = [LoopBoard(path, EVB) for _ in range(count)]
    for board in boards:
        board.start(deadline)
    started_s = time.perf_counter()
    with ThreadPoolExecutor(count) as threads:
        speeds = list(threads.map(lambda board: board.loop(ITERATIONS, deadline), boards))
    host_s = time.perf_counter() - started_s
    return (process.memory_info().rss - before_bytes) // count, host_s, speeds


def test_boards_at_once(
    image: Image, figure: Figure, short: bool, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fresh process, whose memory nothing else has used."""
    count = 2 if short else 8
    monkeypatch.syspath_prepend(pytestconfig.rootpath)  # where that process finds this module
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        board_bytes, host_s, speeds = process.submit(at_once, image(MICROPYTHON), count).result()
    instructions = sum(each.instructions for each in speeds)
    assert instructions > count * ITERATIONS * 300 and board_bytes > MEBI
    what = f"{count} boards in one process"
    note = "added to the process by each"
    figure(f"{what}: memory of each", board_bytes / MEBI, "MiB", below=MOST_MIB, note=note)
    slowest = min(each.simulated_s / each.host_s for each in speeds)
    figure(f"{what}: speed", instructions / host_s / 1e6, "M instr/s", note=f"the slowest at {slowest:.2f} x real time")
