"""The settings of an emulated board: its board's data, its surroundings, and settings that are refused in one line."""

import json
from dataclasses import replace
from typing import Any

import pytest
from portbench_engine import Machine, bootrom
from pydantic import ValidationError

from portbench.boards import BoardUnavailable, board_definition
from portbench.boards.definition import Ethernet, Psram
from portbench.boards.emulated.board import EmulatedBoard
from portbench.boards.emulated.config import CONFIG, EmulatedConfig, engine_settings
from portbench.errors import first_complaint
from tests.boards.emulated.conftest import DEFINITION

PICO = board_definition("RPI_PICO")


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
    network = DEFINITION.network
    assert isinstance(network, Ethernet)
    quad = replace(network, bus="pio", io2_pin=14, io3_pin=15)
    assert (quad.spi_id, network.spi_id) == (None, 0)
    assert engine_settings(replace(DEFINITION, network=quad))["devices"] == [
        {"chip": "W5500", "bus": "pio", **network.pins, "io2_pin": 14, "io3_pin": 15}
    ]
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
    usual = EmulatedConfig().settings(DEFINITION)
    settings = CONFIG.validate_json(json.dumps({name: value})).settings(DEFINITION)
    assert {key: settings[key] for key in usual if settings[key] != usual[key]} == {name: value}
    Machine(bytes(16 << 10), b"", settings)
    with pytest.raises(ValueError, match=f'^the board has no setting "{name}_": remove it$'):
        Machine(bytes(16 << 10), b"", settings | {f"{name}_": value})


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"turnaround_us": -1}, "turnaround_us is -1; input should be greater than or equal to 0"),
        ({"turnaround": 1}, "turnaround is 1; the key is unknown, remove it"),
        ({"faults": {"loss_to_board_per_mille": 1001}}, "faults.loss_to_board_per_mille is 1001; input should be less"),
        ({"faults": {"down_us": [[1, "2"]]}}, "faults.down_us[1][2] is '2'; input should be a valid integer"),
    ],
)
def test_surroundings_are_checked(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CONFIG.validate_python(config)
    assert first_complaint(caught.value).startswith(says)
