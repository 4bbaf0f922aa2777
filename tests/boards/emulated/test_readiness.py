"""Why the published benchmark slept four seconds before it connected, and that polling needs no sleep."""

from dataclasses import replace

import pytest

from portbench.boards.emulated.board import EmulatedBoard
from portbench.clients import ClientNetwork
from tests.boards.emulated.conftest import STATIC, Prepared, result_of, within

BOOTS = 6
LONGEST_DELAY_US = 5_000_000

# The published client without its sleep: it connects as soon as the chip has an address.
IMPATIENT = b"""
from machine import SPI, Pin
import network, socket
nic = network.WIZNET5K(SPI(0, 2_000_000, mosi=Pin(19), miso=Pin(16), sck=Pin(18)), Pin(17), Pin(20))
nic.active(True)
nic.ifconfig(("192.168.50.20", "255.255.255.0", "192.168.50.1", "192.168.50.1"))
try:
    socket.socket().connect(("192.168.50.1", 5000))
    print('PORTBENCH {"connected": true}')
except OSError as error:
    print('PORTBENCH {"errno": %d}' % error.args[0])
"""


def boot_with(board: EmulatedBoard, phy_link_delay_us: int) -> dict[str, object]:
    """One power cycle with that PHY, up to the result line."""
    board.config = replace(board.config, phy_link_delay_us=phy_link_delay_us)
    board.serve("ping_pong", {}, within())
    return result_of(board.run(within()))


def test_connecting_before_the_link_is_up_fails_as_published(prepared: Prepared) -> None:
    board = prepared("wiznet-hardwired", "wiznet", files={"main.py": IMPATIENT})
    # ARP gives up after RTR x (RCR + 1) = 1.8 s: 13 is SOCKERR_TIMEOUT, 4 SOCKERR_SOCKCLOSED.
    assert boot_with(board, 2_500_000).get("errno") in (4, 13)
    assert boot_with(board, 1_500_000) == {"connected": True}


def test_polling_for_the_link_needs_no_sleep(prepared: Prepared) -> None:
    network = ClientNetwork(server=STATIC.gateway, port=5000, address_mode="static", static=STATIC)
    board = prepared("wiznet-hardwired", "wiznet", network=network)
    result = boot_with(board, 2_500_000)
    assert "error" not in result and result["messages"] == 5
    assert isinstance(result["link_us"], int) and result["link_us"] > 2_400_000


@pytest.mark.parametrize(
    ("entry", "family"),
    [("portbench-native", "native"), ("wiznet-hardwired", "wiznet"), ("micropython-1.26.0", "micropython")],
)
def test_every_boot_gets_ready_whatever_the_link_takes(prepared: Prepared, entry: str, family: str) -> None:
    board = prepared(entry, family, messages=3)
    for boot in range(BOOTS):
        delay_us = LONGEST_DELAY_US * boot // (BOOTS - 1)
        result = boot_with(board, delay_us)
        assert "error" not in result and result["messages"] == 3, (delay_us, result)
