"""Emulated boards with real firmware."""

from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final

import pytest

from portbench.boards import Board, Deadline, Deployment, RunOutput, board_definition
from portbench.boards.emulated.board import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.clients import ClientNetwork, StaticAddress
from portbench.firmware import uf2
from portbench.firmware.identify import Uf2File
from portbench.firmware.native_config import CONFIG_ADDRESS, NativeConfig, pack
from tests.conftest import Image, libraries_or_skip
from tests.ping_pong import deployment

DEFINITION = board_definition("W5500_EVB_PICO")
STATIC = StaticAddress(*(IPv4Address(a) for a in ("192.168.50.20", "255.255.255.0", "192.168.50.1", "192.168.50.1")))

MESSAGES: Final = 20

Prepared = Callable[..., EmulatedBoard]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each test here runs the engine."""
    item.add_marker(pytest.mark.engine)


def within(seconds: float = 60) -> Deadline:
    return Deadline(seconds, "test")


def client(
    board: Board, family: str, version: str = "", messages: int = MESSAGES, network: ClientNetwork | None = None
) -> Deployment:
    """The ping-pong, by default for the network that the board brings along."""
    assert board.own_network is not None
    network = network or ClientNetwork(server=board.own_network.server, port=board.own_network.port)
    with libraries_or_skip():
        return deployment(family, network, messages, version)


def measure(board: Board, image: Path, family: str, version: str = "") -> RunOutput:
    """Run `client` with `image`, from flashing on."""
    board.flash(Uf2File.read(image), within())
    board.wait_console(within())
    assert board.identify(within()).family == ("circuitpython" if family == "circuitpython" else "micropython")
    board.deploy(client(board, family, version), within())
    board.serve("ping_pong", {}, within())
    return board.run(within())


def result_of(output: RunOutput) -> dict[str, Any]:
    """The client's result: its console line, or the native client's report to the server."""
    result = output.result or next((s.report for s in output.sessions if s.report is not None), None)
    assert result is not None, output.console[-5:]
    return dict(result)


@pytest.fixture
def prepared(tmp_path: Path, image: Image) -> Prepared:
    """Makes boards with an image and its client on them; `files` replaces the client."""

    def make(
        entry_id: str,
        family: str,
        *,
        messages: int = 5,
        network: ClientNetwork | None = None,
        files: dict[str, bytes] | None = None,
        config: EmulatedConfig | None = None,
    ) -> EmulatedBoard:
        path = image(entry_id)
        board = EmulatedBoard(DEFINITION, config)
        assert board.own_network is not None
        board.serve("ping_pong", {}, within())
        if family == "native":
            native = NativeConfig(server=board.own_network.server, port=board.own_network.port, count=messages)
            merged = tmp_path / "native.uf2"
            merged.write_bytes(uf2.with_data(uf2.read(path), CONFIG_ADDRESS, pack(native)))
            board.flash(Uf2File.read(merged), within())
            board.deploy(Deployment({}, family), within())
            return board
        board.flash(Uf2File.read(path), within())
        board.wait_console(within())
        usual = client(board, family, "9.1.4" if family == "circuitpython" else "", messages, network)
        board.deploy(Deployment(files, family) if files else usual, within(120))
        return board

    return make
