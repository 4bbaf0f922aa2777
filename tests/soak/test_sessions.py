"""Whole sessions, as a person runs and stops them: nothing is left of one that is interrupted or killed."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.boards.hosted.micropython_unix import HostedMicroPython
from portbench.clients import ClientNetwork, StaticAddress
from portbench.errors import PortbenchError
from portbench.results import storage
from portbench.runner.collect import check_result
from portbench.server.tcp import WorkloadServer
from tests.ping_pong import EVB, PING_PONG, deployment, settings
from tests.soak.kills import World
from tests.soak.record import Record


@pytest.fixture
def session(short_folder: Path) -> World:
    return World(
        short_folder, "run", "portbench run --where emulated --runtime portbench-native --messages 3000 --runs 3"
    )


def wait_for_stage(folder: Path, stage: str, row: int) -> None:
    """Until `stage` of row `row` (from 1) begins."""

    def begun() -> bool:
        logs = sorted((folder / "results").rglob("*.log"), key=lambda path: path.stat().st_mtime_ns)
        return len(logs) >= row and f" # {stage}\n" in logs[row - 1].read_text(encoding="utf-8")

    Deadline(60, "session").poll(begun, 0.005, f"row {row} to reach {stage}")


def statuses(folder: Path) -> list[str]:
    (path,) = storage.run_files(folder / "results")
    return [str(row.status) for row in storage.read(path).rows]


@pytest.mark.engine
@pytest.mark.parametrize("stage", ["open", "flash", "run"])
def test_ctrl_c_ends_a_session_soon_and_keeps_its_rows(session: World, short_folder: Path, stage: str) -> None:
    row = 2 if stage == "run" else 1  # the second run of one image is not flashed
    record = Record(0, "ctrl-c")
    with session.started(record) as process:
        wait_for_stage(short_folder, stage, row)
        process.send_signal(signal.SIGINT)
        session.wait(process, record)
    assert record.troubles == []
    assert process.returncode == 130 and "rows: " in session.text(), session.text()
    assert statuses(short_folder) == ["measured"] * (row - 1)
    assert [*(short_folder / "b").iterdir(), *(short_folder / "tmp").iterdir()] == []


@pytest.mark.engine
def test_a_session_that_is_killed_leaves_no_board_and_no_lock(session: World, short_folder: Path) -> None:
    record = Record(0, "killed")
    with session.started(record) as process:
        wait_for_stage(short_folder, "run", 2)
        process.kill()
        process.wait()
    assert record.troubles == []
    assert statuses(short_folder) == ["measured"]
    assert list((short_folder / "b").iterdir()) == []


def test_a_server_killed_in_mid_run_is_told_in_one_line() -> None:
    """The real server, with MicroPython on this PC as its client."""
    deadline = Deadline(60, "test")
    here = IPv4Address("127.0.0.1")
    server = WorkloadServer(PING_PONG, "127.0.0.1", 0, idle_timeout_s=30)
    with HostedMicroPython(EVB) as board, ExitStack() as until_killed:
        until_killed.enter_context(server)
        network = ClientNetwork(
            server=here,
            port=server.port,
            address_mode="static",
            static=StaticAddress(here, here, here, here),
            spi_hz=None,
            intn=True,
            ready_timeout_s=10,
        )
        board.deploy(deployment("hosted", network, 100_000), deadline)

        def kill() -> None:
            deadline.poll(lambda: server.accepted > 0, 0.005, "the client to connect")
            until_killed.close()

        killer = threading.Thread(target=kill)
        killer.start()
        output = board.run(deadline)
        killer.join()
    with pytest.raises(PortbenchError, match="the client failed in stage run: OSError"):
        check_result(output.result, PING_PONG, settings(100_000))
