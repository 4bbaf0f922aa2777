"""Files on a board for a row, and the place of its server."""

import hashlib
import json
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portbench.boards import Board, OwnNetwork
from portbench.clients import StaticAddress
from portbench.errors import PortbenchError
from portbench.firmware import native_config, uf2
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, Source
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import Peer, build_program
from portbench.runner.servers import sessions_since
from portbench.runner.stages import Stage
from portbench.server.tcp import WorkloadServer, measure_round_trip
from portbench.where import Where
from tests.ping_pong import PING_PONG

OPTIONS = BenchOptions().but(settings={"messages": 7}, server_port=0)
PEER = Peer(IPv4Address("192.168.50.1"), 5001)
STATIC = StaticAddress(*(IPv4Address(text) for text in ("10.0.0.2", "255.255.255.0", "10.0.0.1", "10.0.0.1")))
LAN = OwnNetwork(PEER.address, PEER.port, (STATIC.ip, STATIC.mask, STATIC.gateway, STATIC.dns))


def planned(runtime: str, profile: str, options: BenchOptions = OPTIONS) -> PlannedRow:
    (row,) = plan(options.but(runtimes=(runtime,), profiles=(profile,), runs=1))
    return row


def board(where: Where = Where.EMULATED, own: OwnNetwork | None = None) -> Board:
    return cast(Board, SimpleNamespace(where=where, own_network=own))


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image.uf2"
    path.write_bytes(uf2.build(b"MicroPython v1.26.0 on 2025-08-09; ".ljust(512)))
    return path


def config_of(row: PlannedRow, image: Path, on: Board, scratch: Path) -> dict[str, Any]:
    program = build_program(row, Image(row.entry, "1.26.0", Source.FILE, Uf2File.read(image)), on, PEER, scratch)
    assert program.uf2 is not None and program.uf2.identity.version == "1.26.0" and program.has_console
    config: dict[str, Any] = json.loads(program.deployment.files["portbench_config.json"])
    return config


def test_profiles_become_the_clients_settings(image: Path, tmp_path: Path) -> None:
    published = config_of(planned("micropython-1.26.0", "as-published"), image, board(), tmp_path)
    assert (published["spi_hz"], published["intn"], published["messages"]) == (2_000_000, False, 7)
    assert (published["server"], published["port"]) == ("192.168.50.1", 5001)
    tuned = config_of(planned("micropython-1.26.0", "tuned"), image, board(), tmp_path)
    assert (tuned["spi_hz"], tuned["intn"]) == (None, True)


def test_a_static_address_comes_from_the_option_or_the_boards_own_network(image: Path, tmp_path: Path) -> None:
    static = OPTIONS.but(address_mode="static")
    row, given = (planned("micropython-1.26.0", "tuned", each) for each in (static, static.but(static=STATIC)))
    assert config_of(row, image, board(own=LAN), tmp_path)["static"] == STATIC.as_list()
    assert config_of(given, image, board(Where.SILICON), tmp_path)["static"] == STATIC.as_list()
    with pytest.raises(PortbenchError, match="needs the board's address: -s static_address"):
        config_of(row, image, board(Where.SILICON), tmp_path)


@pytest.mark.parametrize("address_mode", ["dhcp", "static"])
def test_the_native_image_carries_its_parameters(address_mode: Any, image: Path, tmp_path: Path) -> None:
    row = planned("portbench-native", "tuned", OPTIONS.but(address_mode=address_mode))
    (tmp_path / "scratch").mkdir()
    program = build_program(
        row,
        Image(row.entry, "1", Source.FILE, Uf2File.read(image)),
        board(own=LAN),
        PEER,
        tmp_path / "scratch",
    )
    assert program.uf2 is not None and program.uf2.sha256 != Uf2File.read(image).sha256 and not program.has_console
    block = native_config.pack(
        native_config.NativeConfig(
            server=PEER.address,
            port=PEER.port,
            count=7,
            static=STATIC if address_mode == "static" else None,
        )
    )
    merged = b"".join(program.uf2.content.ranges().values())
    assert block in merged and uf2.read(image).ranges()[0x10000000] in merged


def test_the_sessions_of_a_run_are_the_good_ones_since_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.runner.servers._SESSION_END_S", 0.2)
    with WorkloadServer(PING_PONG, "127.0.0.1", 0) as server:
        measure_round_trip("127.0.0.1", server.port, PING_PONG.ideal_client(9))
        before = server.accepted
        for exchanges in (5, 7, 6):
            measure_round_trip("127.0.0.1", server.port, PING_PONG.ideal_client(exchanges))
        server.wait_sessions(4, 10)
        sessions = sessions_since(server, before)
        assert [(each.number, each.exchanges) for each in sessions] == [(1, 5), (2, 7), (3, 6)]
        assert sessions_since(server, before, "127.0.0.1") == sessions
        assert sessions_since(server, before, "192.0.2.1") == []
        assert sessions_since(server, server.accepted) == []


LONG = OPTIONS.but(settings={}, server_port=5000)
CONFIGS = {
    ("micropython-1.20.0", "as-published"): "95d45988cc93dc2adbf092390ee3e67cd9df8ee8580d326cad140300acae1a89",
    ("micropython-1.20.0", "tuned"): "ddc9a394a1f0744f15247448ae46bb88b0a75b62d0c45cd0d1fb794720032823",
    ("micropython-1.26.0", "as-published"): "95d45988cc93dc2adbf092390ee3e67cd9df8ee8580d326cad140300acae1a89",
    ("micropython-1.26.0", "tuned"): "ddc9a394a1f0744f15247448ae46bb88b0a75b62d0c45cd0d1fb794720032823",
    ("micropython-1.28.0", "as-published"): "95d45988cc93dc2adbf092390ee3e67cd9df8ee8580d326cad140300acae1a89",
    ("micropython-1.28.0", "tuned"): "ddc9a394a1f0744f15247448ae46bb88b0a75b62d0c45cd0d1fb794720032823",
    ("wiznet-1.0.5", "as-published"): "64e18ea867aa3996c2be365f2af9084e0ef5fbabac26ef2005bc61a979e52279",
    ("wiznet-1.0.5", "tuned"): "b19ce78a0e217ac944280a3fce0bbdc3816f8ca9079bbc36607f36a1dda9cf56",
    ("wiznet-2.0.0", "as-published"): "64e18ea867aa3996c2be365f2af9084e0ef5fbabac26ef2005bc61a979e52279",
    ("wiznet-2.0.0", "tuned"): "b19ce78a0e217ac944280a3fce0bbdc3816f8ca9079bbc36607f36a1dda9cf56",
    ("wiznet-hardwired", "as-published"): "64e18ea867aa3996c2be365f2af9084e0ef5fbabac26ef2005bc61a979e52279",
    ("wiznet-hardwired", "tuned"): "b19ce78a0e217ac944280a3fce0bbdc3816f8ca9079bbc36607f36a1dda9cf56",
    ("circuitpython-8.2.6", "as-published"): "ddc9a394a1f0744f15247448ae46bb88b0a75b62d0c45cd0d1fb794720032823",
    ("circuitpython-9.1.4", "as-published"): "ddc9a394a1f0744f15247448ae46bb88b0a75b62d0c45cd0d1fb794720032823",
}
"""SHA-256 of portbench_config.json as revision f8fed60 deployed it: the board reads it before it measures."""
SCRIPTS = {
    "main.py": "927613ce051739413f3bba073d6efb77199fe432e08b4b38e7651e0b32fe67fb",
    "code.py": "ffae024a575da791185f6cd24f3bd4520b5aa3ffdca510bd7f8160083d31c462",
}
"""Hashes of the scripts of the golden rows: other bytes are other figures. The client before 9.0 waits for USB."""

AFTER_USB = b"""for _ in range(200):
    if supervisor.runtime.usb_connected:
        break
    time.sleep(0.005)
"""


@pytest.mark.parametrize(("runtime", "profile"), CONFIGS)
def test_the_catalogues_profiles_are_deployed_as_they_were_published(
    runtime: str, profile: str, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.clients.deployment.library_files", lambda major, timeout_s: {})
    row = planned(runtime, profile, LONG)
    if runtime.startswith("circuitpython"):
        image.write_bytes(uf2.build(f"CircuitPython {row.entry.version} on 2024-09-17; ".encode().ljust(512)))
    found = Image(row.entry, row.entry.version or "", Source.FILE, Uf2File.read(image))
    files = build_program(row, found, board(own=LAN), Peer(PEER.address, 5000), tmp_path).deployment.files
    assert hashlib.sha256(files["portbench_config.json"]).hexdigest() == CONFIGS[runtime, profile]
    script = "code.py" if runtime.startswith("circuitpython") else "main.py"
    unchanged = files[script] if runtime != "circuitpython-8.2.6" else files[script].replace(AFTER_USB, b"")
    assert hashlib.sha256(unchanged).hexdigest() == SCRIPTS[script]
    assert (unchanged == files[script]) == (runtime != "circuitpython-8.2.6")


def test_what_no_client_could_use_fails_the_row_in_one_line(image: Path, tmp_path: Path) -> None:
    options = OPTIONS.but(timeouts_s=OPTIONS.how.timeouts_s | {Stage.READY: float("inf")})
    with pytest.raises(PortbenchError, match=r"^client: ready_timeout_s is inf: ") as caught:
        config_of(planned("micropython-1.26.0", "tuned", options), image, board(own=LAN), tmp_path)
    assert "\n" not in str(caught.value)
