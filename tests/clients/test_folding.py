"""A board's pins and clock in a client's source."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from portbench import clients
from portbench.boards import BoardDefinition, board_definition
from portbench.clients.assembly import fold
from portbench.errors import PortbenchError

EVB = board_definition("W5500_EVB_PICO")
SCRIPTS = Path(clients.__file__).parent


@pytest.fixture
def other_wiring() -> BoardDefinition:
    assert EVB.network is not None
    network = replace(
        EVB.network,
        bus="spi1",
        sck_pin=10,
        mosi_pin=11,
        miso_pin=12,
        csn_pin=13,
        rstn_pin=14,
        intn_pin=15,
        default_hz=999,
    )
    return replace(EVB, network=network, sd_card=None)


def test_every_name_becomes_its_value(other_wiring: BoardDefinition) -> None:
    names = "BOARD_SPI_ID BOARD_SPI_HZ BOARD_SCK_PIN BOARD_MOSI_PIN BOARD_MISO_PIN BOARD_CSN_PIN BOARD_RSTN_PIN"
    assert fold(f"{names} BOARD_INTN_PIN", other_wiring) == "1 999 10 11 12 13 14 15"
    pins = "board.GP_SCK board.GP_MOSI board.GP_MISO board.GP_CSN board.GP_RSTN board.GP_INTN"
    assert fold(pins, other_wiring) == "board.GP10 board.GP11 board.GP12 board.GP13 board.GP14 board.GP15"


def test_the_sd_cards_pins_have_names_of_their_own() -> None:
    assert fold("BOARD_SD_SPI_ID BOARD_SD_SCK_PIN BOARD_SD_CSN_PIN", EVB) == "1 10 13"
    assert fold("board.GP_SD_MOSI, board.GP_MOSI", EVB) == "board.GP11, board.GP19"


def test_large_numbers_are_written_as_people_write_them() -> None:
    assert fold("hz = BOARD_SPI_HZ", EVB) == "hz = 20_000_000"


@pytest.mark.parametrize(
    "source", ["MY_BOARD_SPI_ID", "BOARD_SPI_ID2", "keyboard.GP_SCK", "board.GP18", "board_csn_pin"]
)
def test_only_whole_names_are_replaced(source: str) -> None:
    assert fold(source, EVB) == source


def test_a_name_that_no_board_has_is_refused() -> None:
    with pytest.raises(
        PortbenchError, match=r"^W5500_EVB_PICO: has no BOARD_SDA_PIN, which the client asks for; there"
    ):
        fold("Pin(BOARD_SDA_PIN)", EVB)


@pytest.mark.parametrize("script", ["micropython/network/ethernet.py", "circuitpython/network/ethernet.py"])
def test_no_wire_is_a_number_in_a_client(script: str, other_wiring: BoardDefinition) -> None:
    """Folded for two boards, the same source differs in every pin."""
    source = (SCRIPTS / script).read_text(encoding="utf-8")
    here, there = (ast.walk(ast.parse(fold(source, board))) for board in (EVB, other_wiring))

    def pins(nodes: object) -> list[str]:
        calls = [node for node in nodes if isinstance(node, ast.Call)]  # type: ignore[attr-defined]
        wired = [ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "Pin"]
        return wired + [ast.unparse(node) for call in calls for node in call.args if "board.GP" in ast.unparse(node)]

    ours, theirs = pins(here), pins(there)
    assert len(ours) == len(theirs) >= 3
    assert all(mine != other for mine, other in zip(ours, theirs, strict=True))
