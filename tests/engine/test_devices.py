"""The parts of a board, from the engine's settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

engine = pytest.importorskip("portbench_engine", reason="the engine is not built; run: make build")
pytestmark = pytest.mark.engine

ROM = bytes(16384)
W5500 = {"chip": "W5500", "bus": "spi0", "sck_pin": 18, "mosi_pin": 19, "miso_pin": 16, "csn_pin": 17}


def machine(*devices: dict[str, Any], mcu: str = "RP2040") -> Any:
    return engine.Machine(ROM, b"", {"mcu": mcu, "devices": list(devices)})


def without(key: str) -> dict[str, Any]:
    return {known: value for known, value in W5500.items() if known != key}


def test_what_is_modelled_has_its_makers_names() -> None:
    assert engine.MCUS == ("RP2040", "RP2350", "ATmega2560", "ATmega1284P")
    assert engine.CHIPS == ("W5500", "W5100S", "W5100", "W5200")


@pytest.mark.parametrize(
    ("device", "line"),
    [
        ({**W5500, "chip": "ENC28J60"}, "chip ENC28J60: the engine models W5500, W5100S, W5100, W5200"),
        ({**W5500, "bus": "i2c0"}, "devices: W5500: bus i2c0: use spi0 or spi1"),
        (without("bus"), "devices: W5500: bus none: use spi0 or spi1"),
        (without("sck_pin"), "devices: W5500 has no sck_pin"),
        (without("chip"), 'devices: a device without "chip"'),
        ({**W5500, "intn_pin": 30}, "intn_pin = 30: the RP2040 has GPIO 0 to 29"),
    ],
)
def test_a_device_that_cannot_be_is_one_line(device: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        machine(device)


def test_an_unknown_setting_of_a_device_is_refused() -> None:
    with pytest.raises(KeyError, match='unknown setting "spi_hz" of a device'):
        machine({**W5500, "spi_hz": 1})


def test_another_microcontroller_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mcu ATtiny85: the engine models RP2040, RP2350, ATmega2560, ATmega1284P$"):
        machine(W5500, mcu="ATtiny85")


def test_a_board_has_one_cable() -> None:
    with pytest.raises(ValueError, match="W5500 and W5500 are both Ethernet chips; the board has one cable"):
        machine(W5500, {**W5500, "bus": "spi1"})


def test_reset_and_interrupt_pins_may_be_left_out() -> None:
    assert machine({**W5500, "rstn_pin": None}).stats()["spi_hz"] == 0


def test_the_chip_without_a_microcontroller_has_to_be_modelled_too() -> None:
    with pytest.raises(ValueError, match=r"^chip ENC28J60: the engine models W5500, W5100S, W5100, W5200$"):
        engine.ChipLan("ENC28J60", {})


@pytest.mark.parametrize(
    "call",
    [
        lambda board: board.listen(5000, None),
        lambda board: board.connect("192.168.50.10:80", None),
        lambda board: board.lan_send(1, b"x"),
        lambda board: board.set_cable(False),
        lambda board: board.set_lan_faults({}),
    ],
)
def test_a_board_without_an_ethernet_chip_has_no_network(call: Callable[[Any], object]) -> None:
    board = machine()
    assert not board.link_up
    assert (board.stats()["spi_bytes"], board.stats()["spi_hz"]) == (0, None)
    with pytest.raises(ValueError, match=r"^this board has no network: none of its devices is an Ethernet or radio"):
        call(board)
