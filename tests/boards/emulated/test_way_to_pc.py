"""A client that cannot get to the PC ends its run in seconds, with what the cable shows of it."""

from ipaddress import IPv4Address

import pytest

from portbench.boards import BoardError, Deadline, Deployment
from portbench.boards.emulated.board import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig, LanFaults
from portbench.clients import ClientNetwork
from portbench.firmware.identify import Uf2File
from tests.boards.emulated.conftest import Prepared
from tests.ping_pong import EVB, NATIVE_IMAGE

LIMIT_S = 600
"""Limit of host time: the result must come from simulated time long before."""

CASES = [
    (
        EmulatedConfig(faults=LanFaults(down_us=((0, 3_600_000_000),))),
        "no link for 9.5 s of simulated time: the cable is out, or the Ethernet chip is held in reset",
    ),
    (
        EmulatedConfig(dhcp=False),
        "no DHCP answer in 5 s of simulated time: there is no DHCP server on this LAN; use -s address_mode=static",
    ),
    (EmulatedConfig(server_port=5001), "connection refused: nothing listens at 192.168.50.1:5000"),
]
NAMES = ["no link", "no DHCP answer", "refused"]


@pytest.mark.parametrize(
    ("config", "says", "attribute"),
    [*((*case, False) for case in CASES), (*CASES[-1], True)],
    ids=[*NAMES, "refused, attributed"],
)
def test_the_native_client(config: EmulatedConfig, says: str, attribute: bool) -> None:
    """An attribution reads the cable, too, and takes nothing from who looks for the fault."""
    one, deadline = EmulatedBoard(EVB, config, attribute=attribute), Deadline(LIMIT_S, "test")
    one.flash(Uf2File.read(NATIVE_IMAGE), deadline)
    one.deploy(Deployment({}, "native"), deadline)
    one.serve("ping_pong", {"messages": 5}, deadline)
    with pytest.raises(BoardError) as caught:
        one.run(deadline)
    assert str(caught.value) == f"emulated WIZnet W5500-EVB-Pico: stopped: {says}"


@pytest.mark.parametrize(
    ("entry", "family"),
    [
        ("micropython-1.26.0", "micropython"),
        ("wiznet-hardwired", "wiznet"),
        ("circuitpython-9.1.4", "circuitpython"),
    ],
)
def test_a_python_client(entry: str, family: str, prepared: Prepared) -> None:
    board = prepared(entry, family, network=ClientNetwork(server=IPv4Address("192.168.50.1"), port=5000))
    for config, says in CASES:
        board.config = config
        board.serve("ping_pong", {}, Deadline(LIMIT_S, "test"))
        with pytest.raises(BoardError) as caught:
            board.run(Deadline(LIMIT_S, "test"))
        assert str(caught.value) == f"emulated WIZnet W5500-EVB-Pico: stopped: {says}"
