"""What is put on a board for each family."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from portbench.clients import ClientConfig, DeploymentError, build_deployment
from portbench.clients.libraries import library_files, pinned_libraries
from tests.conftest import libraries_or_skip

from .conftest import STATIC


def test_config_has_every_agreed_key(config: ClientConfig) -> None:
    files = build_deployment("micropython", "1.26.0", replace(config, static=STATIC, address_mode="static")).files
    assert json.loads(files["portbench_config.json"]) == {
        "server": "192.168.1.247",
        "port": 5000,
        "messages": 50,
        "address_mode": "static",
        "static": ["192.168.1.20", "255.255.255.0", "192.168.1.1", "8.8.8.8"],
        "spi_hz": None,
        "intn": True,
        "ready_timeout_s": 20,
    }


@pytest.mark.parametrize("family", ["micropython", "wiznet", "hosted"])
def test_micropython_families_get_main_py(family: str, config: ClientConfig) -> None:
    deployment = build_deployment(family, "1.26.0", config)
    assert deployment.family == family and set(deployment.files) == {"main.py", "portbench_config.json"}


def test_circuitpython_on_the_pc_needs_no_libraries(config: ClientConfig) -> None:
    assert set(build_deployment("blinka", "7.4.5", config).files) == {"code.py", "portbench_config.json"}


def test_an_unknown_family_lists_the_known_ones(config: ClientConfig) -> None:
    with pytest.raises(DeploymentError, match="there are micropython, wiznet, circuitpython, hosted, blinka"):
        build_deployment("native", "1", config)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"port": 0}, "port 0 is not within 1 to 65535"),
        ({"messages": 0}, "messages 0 has to be 1 or more"),
        ({"ready_timeout_s": 0}, "ready_timeout_s 0 has to be more than 0"),
        ({"spi_hz": 0}, "spi_hz 0 has to be 1 or more"),
        ({"address_mode": "static"}, "address mode static needs an address"),
    ],
)
def test_a_config_that_no_client_could_use(change: dict[str, Any], says: str, config: ClientConfig) -> None:
    with pytest.raises(ValueError, match=says):
        replace(config, **change)


def test_the_driver_follows_the_firmwares_major() -> None:
    versions = {major: pinned_libraries(major)[0].version for major in (7, 8, 9, 10)}
    assert versions == {7: "5.0.3", 8: "5.0.3", 9: "7.4.5", 10: "7.4.5"}


def test_a_major_without_pins_lists_those_with() -> None:
    with pytest.raises(DeploymentError, match=r"CircuitPython 3: .* pins libraries for 7, 8, 9, 10 only"):
        pinned_libraries(3)


def test_a_version_without_a_major_is_refused(config: ClientConfig) -> None:
    with pytest.raises(DeploymentError, match="'unknown' does not begin with its major number"):
        build_deployment("circuitpython", "unknown", config)


class Wheel:
    """A wheel of the test's own, and the file that pins it."""

    def __init__(self, folder: Path, modules: str = '["thing", "single.py"]') -> None:
        self.cache = folder / "cache"
        self.cache.mkdir()
        self.path = self.cache / "made_up-1.0-py3-none-any.whl"
        self.pins = folder / "pins.toml"
        with zipfile.ZipFile(self.path, "w") as archive:
            archive.writestr("thing/__init__.py", "a = 1")
            archive.writestr("thing/typed.pyi", "")
            archive.writestr("single.py", "b = 2")
            archive.writestr("made_up-1.0.dist-info/METADATA", "")
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        self.pins.write_text(
            '[[libraries]]\nname = "made-up"\nversion = "1.0"\nmajors = [9]\n'
            f'modules = {modules}\nsha256 = "{digest}"\n'
        )

    def files(self) -> dict[str, bytes]:
        return library_files(9, 30, self.cache, self.pins)


def test_a_wheel_from_the_cache_becomes_lib(tmp_path: Path) -> None:
    assert Wheel(tmp_path).files() == {"lib/thing/__init__.py": b"a = 1", "lib/single.py": b"b = 2"}


def test_a_damaged_wheel_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheel = Wheel(tmp_path)
    wheel.path.write_bytes(wheel.path.read_bytes() + b"!")
    with pytest.raises(DeploymentError) as caught:
        wheel.files()
    message = str(caught.value)
    assert message.startswith("made-up==1.0: needed in the board's lib/, not in the cache") and "\n" not in message


def test_a_pin_that_names_a_missing_module_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"made_up-1\.0-py3-none-any\.whl: has no nothing; correct modules"):
        Wheel(tmp_path, '["thing", "nothing"]').files()


@pytest.mark.parametrize(
    ("version", "sockets"), [("8.2.6", "adafruit_wiznet5k_socket"), ("9.1.4", "adafruit_wiznet5k_socketpool")]
)
def test_the_real_libraries(version: str, sockets: str, config: ClientConfig) -> None:
    with libraries_or_skip():
        files = build_deployment("circuitpython", version, config).files
    assert "code.py" in files and f"lib/adafruit_wiznet5k/{sockets}.py" in files
    assert {"lib/adafruit_ticks.py", "lib/adafruit_bus_device/spi_device.py"} < set(files)
    for name, content in files.items():
        if name.endswith(".py"):
            compile(content, name, "exec")
    assert sum(map(len, files.values())) < 200_000  # CIRCUITPY holds 1 MB


def test_config_addresses_are_addresses() -> None:
    assert json.loads(ClientConfig(IPv4Address("10.0.0.1"), 5000, 1).to_json())["server"] == "10.0.0.1"
