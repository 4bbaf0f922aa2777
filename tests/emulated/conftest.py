"""Emulated boards with real firmware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import Deadline, Deployment, RunOutput, board_definition
from portbench.boards.emulated import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.clients import ClientNetwork, StaticAddress
from portbench.firmware import uf2
from portbench.firmware.identify import Uf2File
from portbench.firmware.native_config import CONFIG_ADDRESS, NativeConfig, pack
from tests.conftest import Image, libraries_or_skip
from tests.ping_pong import deployment

DEFINITION = board_definition("W5500_EVB_PICO")
STATIC = StaticAddress(*(IPv4Address(a) for a in ("192.168.50.20", "255.255.255.0", "192.168.50.1", "192.168.50.1")))

Prepared = Callable[..., EmulatedBoard]


def within(seconds: float = 60) -> Deadline:
    return Deadline(seconds, "test")


def result_of(output: RunOutput) -> dict[str, Any]:
    """The client's result: its console line, or the native client's report to the server."""
    result = output.result or next((s.report for s in output.sessions if s.report is not None), None)
    assert result is not None, output.console[-5:]
    return dict(result)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: Image) -> Iterator[Prepared]:
    """Makes boards with an image and its client on them; `files` replaces the client. Python's images are in flash from
    the start: the boot loader, which tests/usb proves, would take a third to a half of the processor time."""
    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path / "run"))
    boards: list[EmulatedBoard] = []

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
        raw = None
        if family != "native":
            raw = tmp_path / f"flash-{len(boards)}.bin"
            ((start, content),) = uf2.read(path).flash_bytes().items()
            assert start == uf2.FLASH_BASE
            raw.write_bytes(content)
        board = EmulatedBoard(DEFINITION, config=config, flash=raw)
        boards.append(board)
        assert board.own_network is not None
        board.serve("ping_pong", {}, within())
        if family == "native":
            native = NativeConfig(server=board.own_network.server, port=board.own_network.port, count=messages)
            merged = tmp_path / f"native-{len(boards)}.uf2"
            merged.write_bytes(uf2.with_data(uf2.read(path), CONFIG_ADDRESS, pack(native)))
            board.flash(Uf2File.read(merged), within())
            board.deploy(Deployment({}, family), within())
            return board
        board.wait_console(within())
        asked = network or ClientNetwork(server=board.own_network.server, port=board.own_network.port)
        with libraries_or_skip():
            client = deployment(family, asked, messages, "9.1.4" if family == "circuitpython" else "")
        board.deploy(Deployment(files, family) if files else client, within(120))
        return board

    yield make
    for board in boards:
        board.close()
