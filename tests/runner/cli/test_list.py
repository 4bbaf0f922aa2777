"""Available images, and each profile's settings; nothing is asked of a network."""

import json
import re
import socket
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from portbench.firmware import catalogue
from portbench.runner.cli.verbs.list import show_runtimes, show_workloads
from portbench.runner.inventory import inventory
from tests.runner.conftest import Invoke

FILE = "W5500_EVB_PICO-20250809-v1.26.0.uf2"


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def runtime(name: str) -> dict[str, Any]:
    return next(each for each in inventory()["runtimes"] if each["id"] == name)


def test_an_image_is_missing_cached_or_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime("micropython-1.26.0")["image"] == "missing"
    cache = tmp_path / "cache" / "portbench" / "firmware"
    assert runtime("micropython-1.26.0")["provide"].startswith(f"curl -fL --create-dirs -o {cache / FILE} https://")
    cache.mkdir(parents=True)
    (cache / FILE).touch()
    assert (runtime("micropython-1.26.0")["image"], runtime("micropython-1.26.0")["provide"]) == ("cache", None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / FILE).touch()
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path / "mine"))
    assert runtime("micropython-1.26.0")["image"] == "folder"
    assert runtime("portbench-native")["image"] == "bundled" and runtime("micropython-unix")["image"] == "package"


def test_profiles_are_told_by_their_line() -> None:
    lines = {(each["id"], p["name"]): p["line"] for each in inventory()["runtimes"] for p in each["profiles"]}
    assert lines["micropython-1.26.0", "tuned"] == "network.WIZNET5K()"
    assert lines["micropython-1.26.0", "as-published"] == (
        "network.WIZNET5K(SPI(0, 2_000_000, mosi=Pin(19), miso=Pin(16), sck=Pin(18)), Pin(17), Pin(20))"
    )
    assert lines["wiznet-2.0.0", "as-published"] == lines["micropython-1.26.0", "as-published"]
    assert lines["circuitpython-9.1.4", "as-published"].startswith("WIZNET5K(busio.SPI(board.GP18, MOSI=board.GP19,")
    assert lines["portbench-native", "tuned"] == "NativeConfig(spi_hz=33_300_000, intn=True)"
    assert lines["micropython-unix", "hosted"] is None
    assert len(lines) == sum(len(entry.profiles) for entry in catalogue.load())


def test_json_has_workloads_with_their_settings(invoke: Invoke) -> None:
    found = json.loads(invoke("list", "--json").stdout)
    ping_pong = next(each for each in found["workloads"] if each["name"] == "ping_pong")
    assert ping_pong["by_default"] is True and ping_pong["headline"]["unit"] == "messages/s"
    assert ping_pong["settings"] == [
        {
            "name": "messages",
            "description": "messages of one run",
            "type": "integer",
            "default": 1000,
            "minimum": 1,
            "maximum": 1000000,
        }
    ]
    assert "ping_pong" in runtime("micropython-1.26.0")["workloads"]
    assert {"W5500_EVB_PICO", "RPI_PICO"} <= {each["id"] for each in found["boards"]}


def test_the_table_fits_100_columns_and_a_runtime_begins_a_line(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = invoke("list").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    for entry in catalogue.load():
        (line,) = [line for line in lines if line.startswith(f"{entry.id} ")]
        assert str(entry.family) in line and entry.board in line
    assert "    network.WIZNET5K()" in lines and any(line.startswith("ping_pong (default)") for line in lines)


def test_runtimes_are_whole_words_at_80_columns() -> None:
    found, out = inventory()["runtimes"], StringIO()
    show_runtimes(Console(file=out, width=80), found)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for each in found:
        assert any(line.split()[1:] == [each["family"], each["board"], each["image"]] for line in lines), each["id"]


def test_a_folder_that_is_not_there_is_one_line(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path / "nowhere"))
    done = invoke("list")
    assert (done.exit_code, done.stdout) == (1, "")
    assert (
        done.stderr
        == f"portbench: PORTBENCH_FIRMWARE_DIR={tmp_path / 'nowhere'}: there is no such folder; create it or unset it\n"
    )


def test_what_cannot_run_a_workload_is_named_with_it(invoke: Invoke) -> None:
    said = " ".join(invoke("list", "workloads").stdout.partition("payload")[2].split())
    found = inventory()
    kinds = {each["id"]: (each["board"], each["family"]) for each in found["runtimes"]}
    for workload in found["workloads"]:
        runs = {kinds[each["id"]] for each in found["runtimes"] if workload["name"] in each["workloads"]}
        assert (f" {workload['name']}, " in said or f" {workload['name']}: " in said) == (runs != set(kinds.values()))
    native = "native of W5500_EVB_PICO, W5500_EVB_PICO2"
    assert f"interpreter: not on {native}; circuitpython-blinka; foreign of ARDUINO_MEGA2560 " in said
    assert "sd_card: not on micropython-unix, circuitpython-blinka" in said
    assert "http_httpserver: only on circuitpython of W5500_EVB_PICO, RPI_PICO_W, RPI_PICO2_W " in said


def test_settings_have_defaults_and_a_meaning(invoke: Invoke) -> None:
    found = {each["name"]: each for each in json.loads(invoke("list", "settings", "--json").stdout)}
    assert found["messages"]["default"] == 1000 and "ping_pong" in found["messages"]["workloads"]
    assert found["page"]["choices"] == ["static", "dynamic"] and found["turnaround_us"]["default"] == 200
    assert all(each["meaning"] for each in found.values())
    words = invoke("list", "settings", "--workload", "http").stdout.split()
    assert {"at_once", "spi_hz", "seed", "wifi_ssid"} <= set(words) and "messages" not in words


def test_each_setting_is_one_line(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    names = [line.split()[0] for line in invoke("list", "settings").stdout.splitlines() if line[:1].isalpha()]
    assert names.count("spi_hz") == 1 and len(set(names)) == len(names)


@pytest.mark.parametrize("part", ["runtimes", "workloads"])
def test_a_part_of_the_list_alone(part: str, invoke: Invoke) -> None:
    everything = invoke("list").stdout
    alone = invoke("list", part).stdout
    assert alone in everything and alone.startswith(part.capitalize())
    assert json.loads(invoke("list", part, "--json").stdout) == json.loads(invoke("list", "--json").stdout)[part]


def test_workloads_and_settings_are_whole_words_at_80_columns() -> None:
    found, out = inventory(), StringIO()
    chips = {each["id"]: each["network"] for each in found["boards"]}
    assert chips.items() >= {"RPI_PICO": None, "W5500_EVB_PICO": "W5500", "W5100S_EVB_PICO": "W5100S"}.items()
    show_workloads(Console(file=out, width=80), found)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for workload in found["workloads"]:
        assert any(re.match(rf"{workload['name']} .*{re.escape(workload['headline']['unit'])}", line) for line in lines)
        for setting in workload["settings"]:
            assert any(line.startswith(f"  {setting['name']} ") for line in lines), setting["name"]
