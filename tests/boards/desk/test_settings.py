"""The settings of a desk: refused in one line, and taken whole by its process."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import board_definition
from portbench.boards.desk.__main__ import main
from portbench.boards.desk.board import DeskBoard
from portbench.boards.desk.config import CONFIG, DeskConfig
from portbench.boards.desk.faults import Fault, FaultKind
from portbench.boards.emulated.config import LanFaults
from tests.boards.emulated.conftest import within

PICO = board_definition("RPI_PICO")
NATURAL = st.integers(0, 2**40)


def test_a_board_without_network_starts(root: Path) -> None:
    with DeskBoard.started(PICO) as board:
        assert board.control("status", within())["usb"]["pid"] == PICO.usb.bootloader.pid


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--config={"], "--config: it is '{'; invalid JSON: EOF"),
        (["--config=[]"], "--config: it is []; input should be"),
        (['--config={"pc_ip": "192.168.50"}'], "--config: pc_ip is '192.168.50'; input is not a valid IPv4 address"),
        (
            ['--config={"board_faults": [{"kind": "rust"}]}'],
            "--config: board_faults[1].kind is 'rust'; input should be",
        ),
        (["--board=PICO_3"], "unknown board 'PICO_3'; did you mean RPI_PICO, RPI_PICO2 or RPI_PICO_W?"),
        (["--board=nano"], "unknown board 'nano'; choose one of ARDUINO_MEGA2560, "),
        (["--flash=/dev/zero"], "--flash: /dev/zero: is not a file"),
    ],
)
def test_the_command_refuses_in_one_line(
    arguments: list[str], says: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["emulated", "--name=test", *arguments])
    assert main() == 1
    said = capsys.readouterr().err
    assert said.startswith(f"emulated board test: {says}") and said.count("\n") == 1
    assert list(root.iterdir()) == []


@given(
    config=st.builds(
        DeskConfig,
        turnaround_us=NATURAL,
        phy_link_delay_us=NATURAL,
        server_port=st.integers(1, 65535),
        pc_ip=st.builds(IPv4Address, st.integers(0, 2**32 - 1)),
        bridge=st.lists(st.tuples(st.just("192.168.50.1:5000"), st.just("127.0.0.1:5000")), max_size=2).map(tuple),
        faults=st.builds(LanFaults, seed=NATURAL, down_us=st.lists(st.tuples(NATURAL, NATURAL), max_size=3).map(tuple)),
        board_faults=st.lists(st.builds(Fault, st.sampled_from(FaultKind), amount=st.integers(0, 1000))).map(tuple),
        capture=st.none() | st.just(Path("frames.pcap")),
        xip_miss_cost=st.booleans(),
    )
)
def test_a_configuration_reaches_the_boards_process_whole(config: DeskConfig) -> None:
    assert CONFIG.validate_json(CONFIG.dump_json(config)) == config
