"""What is put on a board with a radio chip."""

from __future__ import annotations

import json
from dataclasses import replace

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
def test_every_workload_of_the_others_has_its_client(family: str, network: ClientNetwork) -> None:
    asked = replace(network, wifi=WIFI)
    networked = (each for each in workloads().values() if each.readiness is not Readiness.BOOTED)
    for workload in (each for each in networked if FAMILIES[family].runs(each)):
        settings = workload.settings_type()
        made = build_deployment(family, "8.0.5", PICO_W, workload, settings, asked)
        script = made.files[FAMILIES[family].script].decode()
        assert "def join(" in script
        compile(script, workload.name, "exec")


def test_what_sets_the_power_save_stands_for_the_profile() -> None:
    def line(family: str, power_save: bool | None) -> str | None:
        return nic_line(family, PICO_W, spi_hz=None, intn=True, power_save=power_save)

    assert line("micropython", None) == "network.WLAN(network.STA_IF)"
    assert line("micropython", False) == "network.WLAN(network.STA_IF).config(pm=network.WLAN.PM_NONE)"
    assert line("circuitpython", None) == "wifi.radio"
    assert line("circuitpython", False) == "cyw43.set_power_management(cyw43.PM_DISABLED)"
