"""The files on a board for each family."""

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from portbench.boards import board_definition
from portbench.clients import FAMILIES, ClientNetwork, build_deployment
from portbench.clients.libraries import library_files, pinned_libraries
from portbench.errors import PortbenchError, Unsupported
from portbench.workloads import WORKLOADS_VARIABLE, Readiness, Workload, workload, workloads
from portbench.workloads.ping_pong.workload import PingPongWorkload
from tests.conftest import libraries_or_skip
from tests.ping_pong import EVB, deployment, settings
from tests.workloads.own import FOLDER

from .conftest import STATIC


class Nowhere(PingPongWorkload):
    """The ping-pong, if nothing could run it."""

    def body(self, language: str) -> Path | None:
        return None


def test_config_has_every_agreed_key(network: ClientNetwork) -> None:
    files = deployment("micropython", replace(network, static=STATIC, address_mode="static"), 50).files
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
def test_micropython_families_get_main_py(family: str, network: ClientNetwork) -> None:
    made = deployment(family, network, 50)
    assert made.family == family and set(made.files) == {"main.py", "portbench_config.json"}


def test_a_board_without_network_gets_no_client_that_needs_one(network: ClientNetwork) -> None:
    with pytest.raises(PortbenchError, match=r"^RPI_PICO: has no network, which a client needs to be connected$"):
        deployment("micropython", network, 50, board=board_definition("RPI_PICO"))


def test_circuitpython_on_the_pc_needs_no_libraries(network: ClientNetwork) -> None:
    assert set(deployment("blinka", network, 50).files) == {"code.py", "portbench_config.json"}


def test_an_unknown_family_lists_the_known_ones(network: ClientNetwork) -> None:
    with pytest.raises(PortbenchError, match="there are micropython, wiznet, circuitpython, hosted, blinka"):
        deployment("native", network, 50)


@pytest.mark.parametrize(
    ("change", "name", "says"),
    [
        ({"port": 0}, "port", "greater than or equal to 1"),
        ({"port": 65_536}, "port", "less than or equal to 65535"),
        ({"ready_timeout_s": 0}, "ready_timeout_s", "greater than 0"),
        ({"ready_timeout_s": float("inf")}, "ready_timeout_s", "finite"),
        ({"spi_hz": 0}, "spi_hz", "greater than or equal to 1"),
        ({"server": "board.local"}, "server", "not a valid IPv4 address"),
        ({"address_mode": "bootp"}, "address_mode", "'dhcp' or 'static'"),
        ({"address_mode": "static"}, "", "address mode static needs an address"),
    ],
)
def test_a_network_that_no_client_could_use(
    change: dict[str, Any], name: str, says: str, network: ClientNetwork
) -> None:
    with pytest.raises(ValidationError) as caught:
        replace(network, **change)
    (detail,) = caught.value.errors()
    assert ".".join(map(str, detail["loc"])) == name and says in detail["msg"]


@pytest.fixture
def spin(monkeypatch: pytest.MonkeyPatch) -> Workload:
    """A workload that needs no network."""
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    return workload("spin")


@pytest.mark.parametrize("family", ["micropython", "circuitpython", "hosted"])
def test_a_workload_without_network_gets_its_settings_alone(family: str, spin: Workload) -> None:
    files = dict(build_deployment(family, "", EVB, spin, spin.quick(), None).files)
    assert json.loads(files.pop("portbench_config.json")) == {"passes": 3, "backwards": False}
    ((name, script),) = files.items()
    assert b"sock" not in script and b'    spin(config["passes"], config["backwards"])\n' in script
    compile(script, name, "exec")


def test_no_network_is_needed_on_a_board_that_has_none(spin: Workload) -> None:
    board = board_definition("RPI_PICO")
    assert "main.py" in build_deployment("micropython", "1.26.0", board, spin, spin.quick(), None).files


def test_blinka_is_no_port_to_run_without_a_network(spin: Workload) -> None:
    with pytest.raises(PortbenchError, match=r"^spin: cannot be run by blinka: "):
        build_deployment("blinka", "", EVB, spin, spin.quick(), None)


@pytest.mark.parametrize(
    ("family", "language"),
    [("micropython", "micropython"), ("wiznet", "micropython"), ("circuitpython", "circuitpython")],
)
def test_a_workload_that_a_family_cannot_run(family: str, language: str, network: ClientNetwork) -> None:
    with pytest.raises(PortbenchError, match=f"^ping_pong: cannot be run by {family}: it has no body in {language}$"):
        build_deployment(family, "9.1.4", EVB, Nowhere(), settings(1), network)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", workloads())
def test_each_workload_of_ours_is_a_whole_script(
    name: str, family: str, network: ClientNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each family that runs it; nothing is left that only the assembly knows."""
    each = workload(name)
    if not FAMILIES[family].runs(each):
        pytest.skip(f"{family} does not run {name}")
    needed = None if each.readiness is Readiness.BOOTED else network
    if needed and family == "circuitpython":
        family = "blinka"  # the same script, whatever the version
    script = FAMILIES[family].script
    monkeypatch.setattr("portbench.clients.deployment.driver_files", lambda names, timeout_s: {})
    monkeypatch.setattr("portbench.clients.deployment.library_files", lambda major, timeout_s, names: {})
    content = build_deployment(family, "", EVB, each, each.settings_type(), needed).files[script]
    compile(content, script, "exec")
    for word in (b"WORKLOAD_TITLE", b"portbench_client", b"workload(", b"BOARD_", b"GP_"):
        assert word not in content


def test_the_driver_follows_the_firmwares_major() -> None:
    versions = {major: pinned_libraries(major)[0].version for major in (7, 8, 9, 10)}
    assert versions == {7: "5.0.3", 8: "5.0.3", 9: "7.4.5", 10: "7.4.5"}


def test_a_major_without_pins_lists_those_with() -> None:
    with pytest.raises(Unsupported, match=r"3: .* pins adafruit-circuitpython-busdevice for 7, 8, 9, 10 only"):
        pinned_libraries(3)


def test_a_version_without_a_major_is_refused(network: ClientNetwork) -> None:
    with pytest.raises(PortbenchError, match="'unknown' does not begin with its major number"):
        deployment("circuitpython", network, 50, "unknown")


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
    with pytest.raises(PortbenchError) as caught:
        wheel.files()
    message = str(caught.value)
    assert message.startswith("made-up==1.0: needed in the board's lib/, not in the cache") and "\n" not in message


def test_a_pin_that_names_a_missing_module_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=r"made_up-1\.0-py3-none-any\.whl: has no nothing; correct modules"):
        Wheel(tmp_path, '["thing", "nothing"]').files()


@pytest.mark.parametrize(
    ("version", "sockets"), [("8.2.6", "adafruit_wiznet5k_socket"), ("9.1.4", "adafruit_wiznet5k_socketpool")]
)
def test_the_real_libraries(version: str, sockets: str, network: ClientNetwork) -> None:
    with libraries_or_skip():
        files = deployment("circuitpython", network, 50, version).files
    assert "code.py" in files and f"lib/adafruit_wiznet5k/{sockets}.py" in files
    assert {"lib/adafruit_ticks.py", "lib/adafruit_bus_device/spi_device.py"} < set(files)
    for name, content in files.items():
        if name.endswith(".py"):
            compile(content, name, "exec")
    assert sum(map(len, files.values())) < 200_000  # CIRCUITPY holds 1 MB
