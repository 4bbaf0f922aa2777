"""The Pico W with real firmware, on its simulated access point."""

from collections.abc import Callable
from typing import Any

import pytest

from portbench.boards import RunOutput, WifiCredentials, board_definition
from portbench.boards.emulated.board import EmulatedBoard, own_network
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.wifi import AccessPoint
from portbench.clients import ClientNetwork
from portbench.firmware.identify import Uf2File
from tests.conftest import Image
from tests.ping_pong import deployment

from .conftest import result_of, within

pytestmark = pytest.mark.slow

DEFINITION = board_definition("RPI_PICO_W")
IMAGES = [
    ("micropython-pico-w-1.26.1", "micropython", "1.26.1"),
    ("circuitpython-pico-w-8.0.5", "circuitpython", "8.0.5"),
]

Play = Callable[..., RunOutput]


@pytest.fixture(scope="module")
def play(image: Image) -> Play:
    """Plays on a board that keeps its image, and its client as long as that is for the same network."""
    boards: dict[str, tuple[EmulatedBoard, WifiCredentials | None]] = {}

    def run(
        entry: str, family: str, version: str, *, point: AccessPoint | None = None, wifi: WifiCredentials | None = None
    ) -> RunOutput:
        path = image(entry)
        if entry not in boards:
            boards[entry] = EmulatedBoard(DEFINITION), None
            boards[entry][0].flash(Uf2File.read(path), within(300))
            boards[entry][0].wait_console(within(300))
        board, joined = boards[entry]
        board.config = EmulatedConfig(access_point=point or AccessPoint())
        own = own_network(board.config)
        wifi = wifi or own.wifi
        if wifi != joined:
            network = ClientNetwork(server=own.server, port=own.port, wifi=wifi)
            board.deploy(deployment(family, network, 20, version, board=DEFINITION), within(300))
            boards[entry] = board, wifi
        board.serve("ping_pong", {}, within())
        return board.run(within(300))

    return run


def figures(output: RunOutput) -> dict[str, Any]:
    result = result_of(output)
    assert "error" not in result, output.console[-5:]
    return result


@pytest.mark.parametrize(("entry", "family", "version"), IMAGES)
def test_plays_and_does_so_twice_alike(entry: str, family: str, version: str, play: Play) -> None:
    first, second = (figures(play(entry, family, version)) for _ in range(2))
    assert first == second
    assert (first["messages"], first["address"], first["join_attempts"]) == (20, "192.168.50.100", 1)
    assert min(first["round_trip_us"]) > 3_000, "less than the air takes"


@pytest.mark.parametrize(("entry", "family", "version"), IMAGES)
def test_a_wrong_passphrase_fails_as_such(entry: str, family: str, version: str, play: Play) -> None:
    output = play(entry, family, version, wifi=WifiCredentials("portbench", "not this one"))
    result = result_of(output)
    assert result["stage"] == "link"
    assert ("passphrase" if family == "micropython" else "Authentication failure") in result["error"]
    assert not any("not this one" in line for line in output.console)


def test_a_network_out_of_range_is_not_found(play: Play) -> None:
    result = result_of(play(*IMAGES[0], point=AccessPoint(rssi_dbm=-95)))
    assert (result["join_attempts"], result["last_join_status"]) == (3, -2)


def test_a_hidden_open_network_is_joined(play: Play) -> None:
    point = AccessPoint(ssid="shy", passphrase=None, hidden=True, rssi_dbm=-75)
    assert figures(play(*IMAGES[0], point=point))["rssi_dbm"] == -75


def test_a_slow_and_lossy_join_is_a_join(play: Play) -> None:
    point = AccessPoint(join_delay_us=2_000_000, loss_per_mille=300)
    slow, usual = figures(play(*IMAGES[0], point=point)), figures(play(*IMAGES[0]))
    assert slow["link_us"] > usual["link_us"]
    assert max(slow["round_trip_us"]) > max(usual["round_trip_us"]), "a lost frame takes another turn"
