"""Parts, pins, wires and UARTs of the emulated board in Python. Their inside: `engine/board/tests/machine/devices/`."""

import re
from collections.abc import Callable
from typing import Any

import portbench_engine as engine
import pytest
from portbench_engine import bootrom

from portbench.boards import board_definition, known_boards
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps

ROM = bytes(16384)
W5500 = {"chip": "W5500", "bus": "spi0", "sck_pin": 18, "mosi_pin": 19, "miso_pin": 16, "csn_pin": 17}
MODELLED = "the engine models W5500, W5100S, W5100, W5200"


def machine(*devices: dict[str, Any], **settings: Any) -> Any:
    return engine.Machine(ROM, b"", {"devices": list(devices), **settings})


def without(key: str) -> dict[str, Any]:
    return {known: value for known, value in W5500.items() if known != key}


def test_what_is_modelled_has_its_makers_names() -> None:
    assert engine.MCUS == ("RP2040", "RP2350", "RP2350B", "RP2354A", "RP2354B", "ATmega2560", "ATmega1284P")
    assert engine.CHIPS == ("W5500", "W5100S", "W5100", "W5200")


def test_an_unknown_setting_of_a_device_is_refused() -> None:
    with pytest.raises(ValueError, match=r'^devices: W5500 has no setting "spi_hz": remove it$'):
        machine({**W5500, "spi_hz": 1})


def test_a_board_has_one_cable() -> None:
    with pytest.raises(ValueError, match="W5500 and W5500 are both Ethernet chips; the board has one cable"):
        machine(W5500, {**W5500, "bus": "spi1"})


def test_reset_and_interrupt_pins_may_be_left_out() -> None:
    assert machine({**W5500, "rstn_pin": None}).stats()["spi_hz"] == 0


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


def test_a_hand_holds_a_pin_until_it_lets_go() -> None:
    board = machine()
    for high in (True, False, True):
        board.set_pin(15, high)
        assert (board.pin(15), board.pins(), board.voltage(15)) == (high, (high << 15, 0), 3.3 if high else 0.0)
    board.set_voltage(15, 1.6)
    assert (board.pin(15), board.voltage(15)) == (False, 1.6)
    board.set_pin(15, None)
    assert (board.pin(15), board.voltage(15)) == (False, None)


def test_wires_join_pins_until_they_are_taken_away() -> None:
    board = machine(wires=[(0, 1)], pins={0: 3.3})
    board.wire(1, 2)
    assert (board.pins()[0], board.wires()) == (0b111, [(0, 1), (1, 2)])
    assert board.unwire(1, 0) and not board.unwire(0, 1)
    assert (board.pins()[0], board.wires()) == (0b001, [(1, 2)])


def test_what_hands_did_stays_when_the_power_goes() -> None:
    board = machine()
    board.set_pin(3, True)
    board.wire(3, 4)
    board.power_cycle()
    assert (board.pins()[0], board.wires()) == (0b11000, [(3, 4)])


@pytest.mark.parametrize("name", ["RPI_PICO", "W5500_EVB_PICO"])
def test_a_board_has_its_own_voltages(name: str) -> None:
    settings = EmulatedConfig(pins={"GP15": "high"}).settings(board_definition(name))  # type: ignore[dict-item]
    board = engine.Machine(bootrom(), b"", settings)
    assert [board.voltage(pin) for pin in (15, 24, 29, 26)] == [3.3, 3.3, 1.57, None]
    assert board.pin(24)


def test_every_board_says_where_its_supply_is_measured() -> None:
    assert {name: dict(board.pins) for name, board in known_boards().items() if board.avr is None} == {
        **{
            f"{name}{chip}": {24: 3.3, 29: 1.57}
            for name in ("RPI_PICO", "W5100S_EVB_PICO", "W5500_EVB_PICO")
            for chip in ("", "2")
        },
        **{name: {29: 1.57} for name in ("RPI_PICO_W", "RPI_PICO2_W")},  # the radio chip sees VBUS
    }


def test_a_uart_that_is_not_set_up_loses_what_it_is_sent() -> None:
    board = machine()
    assert (board.uart_write(1, b"abc"), board.uart_unsent(1)) == (3, 3)
    board.run_until_ps(ps(1000))
    assert (board.uart_unsent(1), board.uart_read(1), board.uart_time_us(1)) == (0, b"", 0.0)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda board: board.set_pin(30, True), "pin 30: the RP2040 has GPIO 0 to 29"),
        (lambda board: board.wire(4, 4), "a wire from pin 4 to itself: name two pins"),
        (lambda board: board.set_voltage(26, 5.0), "5 V at a pin: use 0 to 3.8 V"),
        (lambda board: board.set_voltage(26, float("nan")), "NaN V at a pin: use 0 to 3.8 V"),
        (lambda board: board.uart_read(2), "uart 2: the RP2040 has UART 0 and 1"),
        (lambda _: machine(wires=[(0, 40)]), "pin 40: the RP2040 has GPIO 0 to 29"),
        (lambda _: machine(pins={26: -1.0}), "-1 V at a pin: use 0 to 3.8 V"),
        (lambda _: machine({**W5500, "chip": "ENC28J60"}), f"chip ENC28J60: {MODELLED}"),
        (lambda _: engine.ChipLan("ENC28J60", {}), f"chip ENC28J60: {MODELLED}"),
        (lambda _: machine({**W5500, "bus": "i2c0"}), "devices: W5500: bus i2c0: use spi0 or spi1 or pio"),
        (lambda _: machine(without("bus")), "devices: W5500: bus none: use spi0 or spi1 or pio"),
        (lambda _: machine(without("sck_pin")), "devices: W5500 has no sck_pin: add it"),
        (lambda _: machine(without("chip")), "devices: a device has no chip: add it"),
        (lambda _: machine(turnaround_us="1"), 'turnaround_us: invalid type: string "1", expected u64'),
        (lambda _: machine({**W5500, "bus": "pio", "io2_pin": 20}), "devices: W5500 has no io3_pin: add it"),
        (lambda _: machine({**W5500, "io2_pin": 2, "io3_pin": 30}), "io3_pin = 30: the RP2040 has GPIO 0 to 29"),
        (lambda _: machine({**W5500, "intn_pin": 30}), "intn_pin = 30: the RP2040 has GPIO 0 to 29"),
        (
            lambda _: machine(mcu="RP2354B", flash_bytes=4 << 20),
            "flash_bytes = 4194304: use a power of two from 2097152 to 2097152",
        ),
        (
            lambda _: machine(W5500, mcu="ATtiny85"),
            f"mcu ATtiny85: the engine models {', '.join(engine.MCUS)}",
        ),
    ],
)
def test_what_cannot_be_is_one_line(call: Callable[[Any], object], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        call(machine())
