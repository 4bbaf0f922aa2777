"""Real firmware on an emulated board, measured by the bench through a network console.

The board's LAN is bridged to this machine's loopback, so that its client reaches the real server.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.boards.desk.board import DeskBoard
from portbench.boards.desk.config import DeskConfig
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.remote.serial_server import Protocol, SerialServer
from portbench.firmware.identify import Uf2File
from portbench.results import storage
from portbench.results.model import Row, Status
from tests import patience
from tests.boards.remote.ports import free_port
from tests.boards.usb.conftest import DEFINITION
from tests.conftest import Image

pytestmark = pytest.mark.engine
PROJECT = Path(__file__).parents[3]
MESSAGES = 30


@contextmanager
def bridged_board(image: Path, server_port: int) -> Iterator[DeskBoard]:
    """Running `image`, on a network where 127.0.0.1 is this machine."""
    address = f"127.0.0.1:{server_port}"
    config = DeskConfig(pc_ip="127.0.0.1", bridge=((address, address),))
    with DeskBoard.started(DEFINITION, config) as board:
        board.flash(Uf2File.read(image), Deadline(60, "flash"))
        board.wait_console(Deadline(30, "console"))
        yield board


def bench(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[Row]]:
    command = [sys.executable, "-m", "portbench", "run", "--runs=1", f"--messages={MESSAGES}", "--profile=tuned"]
    command += [f"--results-dir={folder}", "--setting=server_host=127.0.0.1", *arguments]
    done = patience.run(command, 110, cwd=PROJECT)
    latest = folder / storage.LATEST
    return done, list(storage.read(latest).rows) if latest.exists() else []


@pytest.mark.parametrize("protocol", ["rfc2217", "raw"])
def test_the_bench_measures_a_board_behind_a_network_console(
    protocol: Protocol, image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path / "run"))
    wanted = "wiznet-hardwired" if protocol == "raw" else "micropython-1.26.0"
    other = "micropython-1.26.0" if protocol == "raw" else "wiznet-hardwired"
    port = free_port()
    with (
        bridged_board(image(wanted), port) as board,
        SerialServer(board.link.device, protocol=protocol) as server,
    ):
        arguments = [
            f"--device={server.url}",
            "--where=emulated",
            f"--setting=server_port={port}",
            f"--runtime={wanted}",
        ]
        arguments += [f"--runtime={other}"]
        done, rows = bench(tmp_path / "results", *arguments)
    by_runtime = {row.runtime: row for row in rows}
    assert wanted in by_runtime, done.stdout + done.stderr
    row = by_runtime[wanted]
    assert row.status is Status.MEASURED, done.stdout
    assert row.where == "hosted" and row.settings == {"messages": MESSAGES}
    if other in by_runtime and by_runtime[other].status is not Status.SKIPPED:
        reason = by_runtime[other].reason
        assert reason is not None and "a console cannot flash it" in reason
