"""Whole sessions, as a person runs and stops them: nothing is left of one that is interrupted or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path

import psutil
import pytest

from portbench.boards import Deadline
from portbench.boards.hosted.micropython_unix import HostedMicroPython
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.clients import ClientNetwork, StaticAddress
from portbench.errors import PortbenchError
from portbench.results import storage
from portbench.runner.checks.soak.leaks import board_processes
from portbench.runner.collect import check_result
from portbench.server.tcp import WorkloadServer
from tests import patience
from tests.ping_pong import EVB, PING_PONG, deployment, settings

ROOT = Path(__file__).parents[3]


class Session:
    """`portbench run` in a separate process, with its own folders."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.boards = folder / "b"
        (folder / "tmp").mkdir()
        environment = {
            **os.environ,
            RUNTIME_DIR_VARIABLE: str(self.boards),
            LOCK_DIR_VARIABLE: str(folder / "locks"),
            "TMPDIR": str(folder / "tmp"),
        }
        command = [sys.executable, "-m", "portbench", "run", *arguments]
        command += ["--where", "emulated", "--results-dir", str(folder / "results")]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def logs(self) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.rglob("*.log")))

    def wait_for_stage(self, stage: str, row: int) -> None:
        """Until `stage` of row `row` (from 1) begins."""

        def begun() -> bool:
            logs = sorted((self.folder / "results").rglob("*.log"), key=lambda path: path.stat().st_mtime_ns)
            return len(logs) >= row and f" # {stage}\n" in logs[row - 1].read_text(encoding="utf-8")

        Deadline(60, "session").poll(begun, 0.005, f"row {row} to reach {stage}")

    def rows(self) -> list[dict[str, object]]:
        (path,) = storage.run_files(self.folder / "results")
        return [row.model_dump(mode="json") for row in storage.read(path).rows]

    def assert_nothing_is_left(self) -> None:
        Deadline(60, "session").poll(
            lambda: not board_processes(self.boards), 0.05, "the board's process to notice that it is alone"
        )
        assert [path for path in self.boards.rglob("*") if path.exists()] == []


@pytest.fixture
def sessions() -> Iterator[list[Session]]:
    started: list[Session] = []
    yield started
    for session in started:
        for process in [session.process.pid, *board_processes(session.boards)]:
            if psutil.pid_exists(process) and session.process.poll() is None:
                session.process.kill()
        session.process.wait()
        assert session.process.stdout is not None
        session.process.stdout.close()


@pytest.mark.engine
@pytest.mark.parametrize("stage", ["open", "flash", "run"])
def test_ctrl_c_ends_a_session_soon_and_keeps_its_rows(sessions: list[Session], short_folder: Path, stage: str) -> None:
    row = 2 if stage == "run" else 1  # the second run of one image is not flashed
    session = Session(short_folder, "--runtime", "portbench-native", "--messages", "3000", "--runs", "3")
    sessions.append(session)
    session.wait_for_stage(stage, row)
    session.process.send_signal(signal.SIGINT)
    output, _ = patience.communicate(session.process, 60)
    assert session.process.returncode == 130, output
    assert [each["status"] for each in session.rows()] == ["measured"] * (row - 1)
    assert "rows: " in output and "Traceback" not in output
    session.assert_nothing_is_left()
    assert list((short_folder / "tmp").iterdir()) == []


@pytest.mark.engine
def test_a_session_that_is_killed_leaves_no_board_and_no_lock(sessions: list[Session], short_folder: Path) -> None:
    session = Session(short_folder, "--runtime", "portbench-native", "--messages", "3000", "--runs", "3")
    sessions.append(session)
    session.wait_for_stage("run", 2)
    session.process.kill()
    session.process.wait()
    assert [each["status"] for each in session.rows()] == ["measured"]
    session.assert_nothing_is_left()


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
