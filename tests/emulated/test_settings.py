"""The settings of an emulated board: its board's data, its surroundings, and settings that are refused in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from portbench_engine import Machine, bootrom

from portbench.boards import BoardError, BoardUnavailable, board_definition
from portbench.boards.definition import Psram
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.emulated.config import CONFIG, EmulatedConfig, LanFaults, engine_settings
from portbench.boards.emulated.faults import Fault, FaultKind
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, claimed_folder
from tests import patience
from tests.conftest import NO_ENGINE
from tests.emulated.conftest import DEFINITION, within

PICO = board_definition("RPI_PICO")
NATURAL = st.integers(0, 2**40)


@pytest.fixture(scope="module")
def pico(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedBoard]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path_factory.mktemp("boards")))
        with EmulatedBoard(PICO) as board:
            yield board


def test_the_machine_is_the_boards_data() -> None:
    assert engine_settings(DEFINITION) == {
        "mcu": "RP2040",
        "flash_bytes": 2 << 20,
        "devices": [
            {
                **{"chip": "W5500", "bus": "spi0", "sck_pin": 18, "mosi_pin": 19, "miso_pin": 16},
                **{"csn_pin": 17, "rstn_pin": 20, "intn_pin": 21},
            }
        ],
        "attached": [],
    }
    assert engine_settings(PICO) == {"mcu": "RP2040", "flash_bytes": 2 << 20, "devices": [], "attached": []}


def test_a_psram_is_a_chip_select_that_the_microcontroller_has() -> None:
    with_psram = [replace(board_definition(id), psram=Psram("APS6404L", 19)) for id in ("RPI_PICO2", "RPI_PICO")]
    settings = [engine_settings(definition) for definition in with_psram]
    assert [each["psram_csn_pin"] for each in settings] == [19, 19]
    Machine(bootrom("RP2350"), b"", settings[0])
    with pytest.raises(ValueError, match=r"psram_csn_pin = 18: the RP2350 selects a PSRAM by one of GPIO \[0, 8, 19\]"):
        Machine(bootrom("RP2350"), b"", settings[0] | {"psram_csn_pin": 18})
    with pytest.raises(ValueError, match="psram_csn_pin = 19: the RP2040 has no chip select for a PSRAM; leave it out"):
        Machine(bootrom("RP2040"), b"", settings[1])


def test_a_chip_that_is_not_emulated_is_refused() -> None:
    assert DEFINITION.network is not None
    with pytest.raises(BoardUnavailable) as caught:
        EmulatedBoard(replace(DEFINITION, id="MINE", network=replace(DEFINITION.network, chip="W6100")))
    known = "there are: W5500, W5100S, W5100, W5200"
    assert str(caught.value) == f"MINE: has a W6100, which is not emulated ({known}); use a real board"


def test_a_microcontroller_that_is_not_emulated_is_refused() -> None:
    with pytest.raises(BoardUnavailable, match=r"^RPI_PICO: has a ESP32-S3, which is not emulated \(there are: RP2040"):
        EmulatedBoard(replace(PICO, mcu="ESP32-S3"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dhcp", False),
        ("dns_answer", "192.168.50.1"),
        ("ntp_start_s", 1_700_000_000),
        ("tcp_echo_port", 7),
        ("udp_echo_port", 7),
        ("stack_delay_us", 25),
        ("delayed_ack_us", 0),
        ("quick_ack", False),
    ],
)
def test_what_the_pc_serves_reaches_the_engine(name: str, value: object) -> None:
    """Each from a board's configuration; the engine refuses what it does not know."""
    engine = pytest.importorskip("portbench_engine", reason=NO_ENGINE)
    usual = EmulatedConfig().settings(DEFINITION)
    settings = CONFIG.validate_json(json.dumps({name: value})).settings(DEFINITION)
    assert {key: settings[key] for key in usual if settings[key] != usual[key]} == {name: value}
    engine.Machine(bytes(16 << 10), b"", settings)
    with pytest.raises(KeyError, match=f"unknown setting .*{name}_"):
        engine.Machine(bytes(16 << 10), b"", settings | {f"{name}_": value})


def test_a_board_without_network_starts(pico: EmulatedBoard) -> None:
    assert pico.control("status", within())["usb"]["pid"] == PICO.usb.bootloader.pid


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"turnaround_us": -1}, "turnaround_us is -1; input should be greater than or equal to 0"),
        ({"turnaround": 1}, "turnaround is 1; the key is unknown, remove it"),
        ({"faults": {"loss_to_board_per_mille": 1001}}, "faults.loss_to_board_per_mille is 1001; input should be less"),
        ({"faults": {"down_us": [[1, "2"]]}}, "faults.down_us[1][2] is '2'; input should be a valid integer"),
    ],
)
def test_new_surroundings_are_checked_before_the_power_goes_off(
    pico: EmulatedBoard, config: dict[str, Any], says: str
) -> None:
    before_us = pico.control("status", within())["time_us"]
    with pytest.raises(BoardError) as caught:
        pico.control("power_cycle", within(), config=config)
    assert f"power_cycle: {says}" in str(caught.value) and "\n" not in str(caught.value)
    assert pico.control("status", within())["time_us"] >= before_us


def test_new_surroundings_may_be_nested(pico: EmulatedBoard) -> None:
    faults = {"seed": 3, "down_us": [[1, 2], [5, 8]]}
    pico.control("power_cycle", within(), config={"turnaround_us": 77, "faults": faults})
    assert pico.control("network", within())["turnaround_us"] == 77


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
    ],
)
def test_the_command_refuses_in_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from portbench.boards.emulated.__main__ import main

    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path))
    monkeypatch.setattr("sys.argv", ["emulated", "--name=test", *arguments])
    assert main() == 1
    said = capsys.readouterr().err
    assert said.startswith(f"emulated board test: {says}") and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@given(
    config=st.builds(
        EmulatedConfig,
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
def test_a_configuration_reaches_the_boards_process_whole(config: EmulatedConfig) -> None:
    assert CONFIG.validate_json(CONFIG.dump_json(config)) == config


def test_a_name_that_is_taken_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path))
    command = [sys.executable, "-m", "portbench.boards.emulated", "--name=test"]
    with claimed_folder("test"):
        done = patience.run(command, 60)
    assert (done.returncode, done.stderr) == (
        1,
        "emulated board test: a board of that name runs already; use --name\n",
    )
