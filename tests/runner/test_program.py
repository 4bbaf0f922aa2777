"""What goes onto a board for a row, and where its server is."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portbench.boards import Board, OwnNetwork, board_definition
from portbench.clients import StaticAddress
from portbench.firmware import catalogue, native_config, uf2
from portbench.firmware.images import Image, Source
from portbench.runner.client_result import RunFailed
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRun
from portbench.runner.program import Peer, build_program
from portbench.runner.servers import Servers, session_since
from portbench.server.own_turnaround import measure_round_trip
from portbench.server.tcp import PingPongServer

OPTIONS = BenchOptions(board=board_definition("W5500_EVB_PICO"), messages=7, server_port=0)
PEER = Peer(IPv4Address("192.168.50.1"), 5001)
STATIC = StaticAddress(*(IPv4Address(text) for text in ("10.0.0.2", "255.255.255.0", "10.0.0.1", "10.0.0.1")))
LAN = OwnNetwork(PEER.address, PEER.port, (STATIC.ip, STATIC.mask, STATIC.gateway, STATIC.dns))


def planned(runtime: str, profile: str) -> PlannedRun:
    entry = catalogue.load().get(runtime)
    return PlannedRun(entry, next(row for row in entry.rows if row.name == profile), 1, 1)


def board(where: str = "emulated", own: OwnNetwork | None = None) -> Board:
    return cast(Board, SimpleNamespace(where=where, own_network=own))


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image.uf2"
    path.write_bytes(uf2.build(b"MicroPython v1.26.0 on 2025-08-09; ".ljust(512)))
    return path


def config_of(run: PlannedRun, image: Path, options: BenchOptions, on: Board, scratch: Path) -> dict[str, Any]:
    program = build_program(run, Image(run.entry, "1.26.0", Source.FILE, image, "aa"), on, PEER, options, scratch)
    assert program.identity is not None and program.identity.version == "1.26.0" and program.has_console
    config: dict[str, Any] = json.loads(program.deployment.files["portbench_config.json"])
    return config


def test_profiles_become_the_clients_settings(image: Path, tmp_path: Path) -> None:
    published = config_of(planned("micropython-1.26.0", "as-published"), image, OPTIONS, board(), tmp_path)
    assert (published["spi_hz"], published["intn"], published["messages"]) == (2_000_000, False, 7)
    assert (published["server"], published["port"]) == ("192.168.50.1", 5001)
    tuned = config_of(planned("micropython-1.26.0", "tuned"), image, OPTIONS, board(), tmp_path)
    assert (tuned["spi_hz"], tuned["intn"]) == (None, True)


def test_a_static_address_comes_from_the_option_or_the_boards_own_network(image: Path, tmp_path: Path) -> None:
    run, static = planned("micropython-1.26.0", "tuned"), replace(OPTIONS, address_mode="static")
    assert config_of(run, image, static, board(own=LAN), tmp_path)["static"] == STATIC.as_list()
    given = replace(static, static=STATIC)
    assert config_of(run, image, given, board("silicon"), tmp_path)["static"] == STATIC.as_list()
    with pytest.raises(RunFailed, match="needs the board's address: --static-address"):
        config_of(run, image, static, board("silicon"), tmp_path)


@pytest.mark.parametrize("address_mode", ["dhcp", "static"])
def test_the_native_image_carries_its_parameters(address_mode: Any, image: Path, tmp_path: Path) -> None:
    run = planned("portbench-native", "tuned")
    options = replace(OPTIONS, address_mode=address_mode)
    (tmp_path / "scratch").mkdir()
    program = build_program(
        run, Image(run.entry, "1", Source.BUNDLED, image, "aa"), board(own=LAN), PEER, options, tmp_path / "scratch"
    )
    assert program.uf2 is not None and program.uf2_sha256 != "aa" and not program.has_console
    block = native_config.pack(
        native_config.NativeConfig(
            server=PEER.address,
            port=PEER.port,
            messages=7,
            static=native_config.StaticAddress(STATIC.ip, STATIC.mask, STATIC.gateway)
            if address_mode == "static"
            else None,
        )
    )
    merged = b"".join(uf2.read(program.uf2).ranges().values())
    assert block in merged and uf2.read(image).ranges()[0x10000000] in merged


def test_a_board_with_its_own_network_needs_no_server_of_ours() -> None:
    servers = Servers(OPTIONS)
    assert servers.peer_for(board(own=LAN)) == (PEER, None) and servers.own_turnaround == {}
    servers.close()


def test_hosted_boards_share_a_server_on_the_loopback() -> None:
    servers = Servers(OPTIONS)
    try:
        (peer, server), again = servers.peer_for(board("hosted")), servers.peer_for(board("hosted"))
        assert server is not None and again == (peer, server) and peer.address == IPv4Address("127.0.0.1")
        assert servers.own_turnaround["127.0.0.1"].median_us > 0
    finally:
        servers.close()


def test_a_session_is_found_by_number_and_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.runner.servers._SESSION_END_S", 0.2)
    with PingPongServer("127.0.0.1", 0) as server:
        measure_round_trip("127.0.0.1", server.port, 5)
        before = server.accepted
        measure_round_trip("127.0.0.1", server.port, 7)
        session = session_since(server, before, 7)
        assert session is not None and session.number == 1 and session.messages == 7
        assert session_since(server, before, 5) is None
