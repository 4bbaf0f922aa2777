"""Hosted CircuitPython: the very client of real boards, the real driver, a child process, and nothing left behind."""

import importlib.metadata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import BoardUnavailable, Deadline, Deployment, board_definition
from portbench.boards.hosted.circuitpython_blinka import HostedCircuitPython
from portbench.clients import ClientNetwork, StaticAddress
from portbench.errors import BoardError
from tests.boards.test_hosted import test_nothing_is_left_behind as test_nothing_is_left_behind
from tests.ping_pong import EVB, deployment

pytest.importorskip("adafruit_wiznet5k")
pytestmark = pytest.mark.engine


@pytest.fixture
def board() -> Iterator[HostedCircuitPython]:
    with HostedCircuitPython(EVB, phy_link_delay_s=0.1) as board:
        board.serve("ping_pong", {}, limit())
        yield board


def limit(seconds: float = 30) -> Deadline:
    return Deadline(seconds, "run")


def client(board: HostedCircuitPython, messages: int = 20, **changes: Any) -> Deployment:
    assert board.own_network is not None
    network = board.own_network
    given: dict[str, Any] = {"server": network.server, "port": network.port, "ready_timeout_s": 10.0} | changes
    return deployment("blinka", ClientNetwork(**given), messages)


def script(source: bytes) -> Deployment:
    return Deployment({"code.py": source}, "blinka")


def test_says_what_it_is(board: HostedCircuitPython) -> None:
    identity = board.identify(limit())
    assert identity.version == importlib.metadata.version("adafruit-circuitpython-wiznet5k")
    assert "Python" in identity.machine and board.where == "hosted"


def test_measures_the_ping_pong(board: HostedCircuitPython) -> None:
    board.flash(Path("none.uf2"), limit())
    board.wait_console(limit())
    board.deploy(client(board), limit())
    output = board.run(limit())
    result = output.result
    assert result is not None and "error" not in result, result
    assert result["messages"] == 20 and len(result["round_trip_us"]) == 20 and result["address"] == "192.168.50.100"
    assert result["spi_hz_actual"] == 8_000_000
    # Each message waits for the PC's 200 us, so the simulated server's time is within the client's.
    assert all(us >= 200 for us in result["round_trip_us"]) and result["total_us"] >= sum(result["round_trip_us"])
    (session,) = output.sessions
    assert session.exchanges == 20 and session.error is None
    server_us = session.received_us[-1] - session.received_us[0]
    assert server_us <= result["total_us"] * 1.05
    assert output.sim is not None and output.sim["counters"]["chip_selects"] > 20


def test_the_driver_knows_the_w5100s() -> None:
    """Its rings are computed by the driver, where the W5500 computes them itself."""
    with HostedCircuitPython(board_definition("W5100S_EVB_PICO"), phy_link_delay_s=0.1) as board:
        board.serve("ping_pong", {}, limit())
        board.deploy(client(board, 20), limit())
        output = board.run(limit())
    result = output.result
    assert result is not None and "error" not in result, result
    assert result["address"] == "192.168.50.100" and len(result["round_trip_us"]) == 20
    (session,) = output.sessions
    assert session.exchanges == 20 and session.error is None


def test_uses_a_static_address(board: HostedCircuitPython) -> None:
    assert board.own_network is not None
    static = StaticAddress(*board.own_network.static)
    board.deploy(client(board, address_mode="static", static=static, messages=2), limit())
    output = board.run(limit())
    assert output.result is not None and output.result["address"] == str(static.ip)
    assert output.sessions[0].peer.startswith(f"{static.ip}:")


def test_the_older_driver_runs_the_same_client(older_driver: Path) -> None:
    folder = older_driver
    metadata = folder / "adafruit_circuitpython_wiznet5k-5.0.3.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: adafruit-circuitpython-wiznet5k\nVersion: 5.0.3\n")
    with HostedCircuitPython(EVB, phy_link_delay_s=0.1, driver_folder=folder) as board:
        assert board.identify(limit()).version == "5.0.3"
        board.serve("ping_pong", {}, limit())
        board.deploy(client(board, messages=5), limit())
        output = board.run(limit())
    assert output.result is not None and output.result["messages"] == 5
    assert output.sessions[0].error is None


def test_a_slow_server_slows_the_messages() -> None:
    with HostedCircuitPython(EVB, phy_link_delay_s=0.1, turnaround_us=20_000) as board:
        board.serve("ping_pong", {}, limit())
        board.deploy(client(board, messages=3), limit())
        output = board.run(limit())
    assert output.result is not None and min(output.result["round_trip_us"]) >= 20_000


def test_a_server_that_is_not_there(board: HostedCircuitPython) -> None:
    board.deploy(client(board, port=4999, ready_timeout_s=2.0), limit())
    result = board.run(limit()).result
    assert result is not None and "not ready within 2 s" in result["error"] and result["stage"] == "connect"


def test_nothing_is_served_before_it_is_told_what() -> None:
    with HostedCircuitPython(EVB, phy_link_delay_s=0.1) as board:
        board.deploy(client(board, ready_timeout_s=2.0), limit())
        output = board.run(limit())
    assert output.result is not None and "error" in output.result and output.sessions == []


def test_code_py_does_not_hide_the_standard_library(board: HostedCircuitPython) -> None:
    board.deploy(script(b"import code, json\nprint('PORTBENCH', json.dumps({'console': code.__name__}))"), limit())
    assert board.run(limit()).result == {"console": "code"}


def test_a_script_that_ends_the_process_has_no_record(board: HostedCircuitPython) -> None:
    board.deploy(script(b"import os\nprint('PORTBENCH {}', flush=True)\nos._exit(1)"), limit())
    output = board.run(limit())
    assert output.result == {} and output.sessions == []


def test_wants_a_client(board: HostedCircuitPython) -> None:
    with pytest.raises(BoardError, match="nothing was deployed"):
        board.run(limit())
    with pytest.raises(BoardError, match=r"has no code\.py, only main\.py"):
        board.deploy(Deployment({"main.py": b""}, "blinka"), limit())


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(
        BoardUnavailable, match=r"^hosted CircuitPython: RPI_PICO has no network; choose a board with one$"
    ):
        HostedCircuitPython(board_definition("RPI_PICO"))
    with pytest.raises(BoardUnavailable, match=r": ARDUINO_MEGA2560 has no RSTn pin; choose a board with one$"):
        HostedCircuitPython(board_definition("ARDUINO_MEGA2560"))
    known = r"\(there are: W5500, W5100S, W5100, W5200\)"
    not_emulated = rf"^MINE: has a W6100, which is not emulated {known}; use a real board$"
    assert EVB.network is not None
    with pytest.raises(BoardUnavailable, match=not_emulated):
        HostedCircuitPython(replace(EVB, id="MINE", network=replace(EVB.network, chip="W6100")))
    with pytest.raises(BoardUnavailable, match=r"pip install .*\[hosted\]'"):
        HostedCircuitPython(EVB, driver_folder=tmp_path)
