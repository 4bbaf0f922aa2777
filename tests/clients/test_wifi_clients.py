"""The files on a board with a radio chip."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from portbench.boards import WifiCredentials, board_definition
from portbench.clients import FAMILIES, ClientNetwork, build_deployment, nic_line
from portbench.workloads import Readiness, workloads
from tests.ping_pong import deployment

PICO_W = board_definition("RPI_PICO_W")
WIFI = WifiCredentials("net", "not to be told")


@pytest.mark.parametrize(("family", "script"), [("micropython", "main.py"), ("circuitpython", "code.py")])
def test_the_client_joins_and_needs_no_library(family: str, script: str, network: ClientNetwork) -> None:
    asked = replace(network, wifi=WIFI, power_save=False)
    files = deployment(family, asked, 50, "8.0.5", board=PICO_W).files
    assert set(files) == {script, "portbench_config.json"}
    config = json.loads(files["portbench_config.json"])
    assert (config["ssid"], config["passphrase"], config["power_save"]) == ("net", "not to be told", False)
    assert config["spi_hz"] is None and "intn" not in config
    assert b"Raspberry Pi Pico W" in files[script] and b"WIZNET" not in files[script]
    assert b"not to be told" not in files[script], "it is in the configuration only"


def test_a_wired_board_is_told_nothing_of_it(network: ClientNetwork) -> None:
    config = json.loads(deployment("micropython", network, 50).files["portbench_config.json"])
    assert not {"ssid", "passphrase", "power_save"} & set(config)


@pytest.mark.parametrize("family", ["micropython", "circuitpython"])
def test_every_workload_of_the_others_has_its_client(
    family: str, network: ClientNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.clients.deployment.driver_files", lambda names, timeout_s: {})
    monkeypatch.setattr("portbench.clients.deployment.library_files", lambda major, timeout_s, names: {})
    asked = replace(network, wifi=WIFI)
    networked = (each for each in workloads().values() if each.readiness is not Readiness.BOOTED)
    for workload in (each for each in networked if FAMILIES[family].runs(each)):
        settings = workload.settings_type()
        version = "9.1.4" if workload.libraries(family, settings) else "8.0.5"  # not every library is for 8
        made = build_deployment(family, version, PICO_W, workload, settings, asked)
        script = made.files[FAMILIES[family].script].decode()
        assert "def join(" in script
        compile(script, workload.name, "exec")


def test_what_sets_the_power_save_stands_for_the_profile() -> None:
    def line(family: str, power_save: bool | None) -> str | None:
        return nic_line(family, PICO_W, spi_hz=None, intn=True, power_save=power_save, version="1.26.1")

    assert line("micropython", None) == "network.WLAN(network.STA_IF)"
    assert line("micropython", False) == "network.WLAN(network.STA_IF).config(pm=network.WLAN.PM_NONE)"
    assert line("circuitpython", None) == "wifi.radio"
    assert line("circuitpython", False) == "cyw43.set_power_management(cyw43.PM_DISABLED)"


def test_circuitpython_s_sockets_have_what_bodies_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The image's own have `recv_into` and `recvfrom_into` only."""

    class Native:
        def __init__(self, kind: tuple[int, ...] = ()) -> None:
            self.kind = kind
            self.send = self.sendto = self.settimeout = self.close = self.connect = print

        def recv_into(self, buffer: memoryview, count: int = 2) -> int:
            assert len(buffer) == count or count == 2
            buffer[:2] = b"ok"
            return 2

        def recvfrom_into(self, buffer: memoryview) -> tuple[int, str]:
            return self.recv_into(buffer), "peer"

        def accept(self) -> tuple[Native, str]:
            return Native(), "caller"

    native_pool = SimpleNamespace(AF_INET=0, SOCK_DGRAM=1, socket=lambda *kind: Native(kind))
    for name in ("cyw43", "socketpool", "wifi"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    told = ModuleType("portbench_client")
    vars(told).update(RESULT={}, check_deadline=None, elapsed_us=None)
    monkeypatch.setitem(sys.modules, "portbench_client", told)
    part: dict[str, Any] = {}
    exec((Path(__file__).parents[2] / "clients/circuitpython/network/wifi.py").read_text(), part)
    pool = part["Sockets"](native_pool)
    stream = pool.socket()
    assert (stream.recv(4), stream.recv(2)) == (b"ok", b"ok")
    datagrams = stream._socket_pool.socket(pool.AF_INET, pool.SOCK_DGRAM)
    assert datagrams._sock.kind == (0, 1)
    assert datagrams.recvfrom(5) == (b"ok", "peer")
    accepted, peer = stream.accept()
    assert (accepted._socket_pool, peer) == (pool, "caller")
