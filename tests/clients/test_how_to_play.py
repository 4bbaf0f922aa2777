"""The clients of docs/how-to-play.md are short, and meet the PC on the pins and at the address that the page says."""

import re
from pathlib import Path

import pytest

from portbench.boards import board_definition
from portbench.boards.definition import PC_IP, SERVER_PORT, board_address
from portbench.boards.wifi import AccessPoint
from tests.ping_pong import EVB

PAGE = Path(__file__).parents[2] / "docs" / "how-to-play.md"
FOLDER = PAGE.with_suffix("")
CLIENTS = ("c/play.c", "rust/src/main.rs", "rust-pico-w/src/main.rs", "arduino/play/play.ino")


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_short_and_knows_where_the_pc_is(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert re.search(re.escape(", ".join(str(PC_IP).split("."))), text) and str(SERVER_PORT) in text
    assert f"how-to-play/{name}" in PAGE.read_text(encoding="utf-8")


def test_the_page_and_the_client_in_c_use_the_static_address_of_the_simulated_lan() -> None:
    page, client = PAGE.read_text(encoding="utf-8"), (FOLDER / "c/play.c").read_text(encoding="utf-8")
    assert f"{PC_IP}, port {SERVER_PORT}" in page and f"DHCP, or {board_address()}, mask" in page
    assert ", ".join(str(board_address()).split(".")) in client


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (
            "c/play.c",
            {
                "miso_pin": "MISO = {}",
                "csn_pin": "CS = {}",
                "sck_pin": "SCK = {}",
                "mosi_pin": "MOSI = {}",
                "rstn_pin": "RESET = {}",
            },
        ),
        (
            "rust/src/main.rs",
            dict.fromkeys(("sck_pin", "mosi_pin", "miso_pin", "csn_pin", "intn_pin", "rstn_pin"), "p.PIN_{}"),
        ),
        ("arduino/play/play.ino", {"csn_pin": "CS = {}", "rstn_pin": "RESET = {}", "intn_pin": "INT = {}"}),
    ],
)
def test_the_clients_pins_are_the_boards(name: str, written: dict[str, str]) -> None:
    assert EVB.network is not None
    text = (FOLDER / name).read_text(encoding="utf-8")
    for pin, form in written.items():
        assert re.search(rf"{re.escape(form.format(EVB.network.pins[pin]))}\b", text), pin


def test_the_radios_client_uses_the_boards_pins_and_joins_the_emulated_network() -> None:
    network = board_definition("RPI_PICO_W").network
    assert network is not None
    page, text = PAGE.read_text(encoding="utf-8"), (FOLDER / "rust-pico-w/src/main.rs").read_text(encoding="utf-8")
    for pin in ("on_pin", "data_pin", "csn_pin", "clock_pin"):
        assert re.search(rf"p\.PIN_{network.pins[pin]}\b", text), pin
    point = AccessPoint()
    for name, value in (("SSID", point.ssid), ("PASSPHRASE", point.passphrase)):
        assert f'option_env!("PORTBENCH_WIFI_{name}").unwrap_or("{value}")' in text
        assert f"`{value}`" in page
