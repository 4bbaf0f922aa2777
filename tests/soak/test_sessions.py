"""Whole sessions, as a person runs and stops them: nothing is left of one that is interrupted."""

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


def wait_for_stage(folder: Path, stage: str) -> None:
    """Until `stage` of the first row begins."""

    def begun() -> bool:
        return any(f" # {stage}\n" in log.read_text(encoding="utf-8") for log in (folder / "results").rglob("*.log"))

    Deadline(60, "session").poll(begun, 0.005, f"its first row to reach {stage}")


@pytest.mark.engine
@pytest.mark.parametrize("stage", ["open", "flash"])
def test_ctrl_c_ends_a_session_before_its_first_row(session: World, short_folder: Path, stage: str) -> None:
    record = Record(0, "ctrl-c")
    with session.started(record) as process:
        wait_for_stage(short_folder, stage)
        process.send_signal(signal.SIGINT)
        session.wait(process, record)
    assert record.troubles == []
    assert process.returncode == 130 and "rows: " in session.text(), session.text()
    (path,) = storage.run_files(short_folder / "results")
    assert storage.read(path).rows == []
    assert [*(short_folder / "b").iterdir(), *(short_folder / "tmp").iterdir()] == []


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
