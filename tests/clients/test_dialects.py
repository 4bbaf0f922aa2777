"""Clients for releases whose module `network` differs: only they get other bytes."""

import ast
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from portbench.boards import BoardDefinition, WifiCredentials, board_definition
from portbench.clients import ClientNetwork, build_deployment, nic_line
from portbench.clients.dialects import adapted
from portbench.errors import PortbenchError, Unsupported
from portbench.workloads import workload
from tests.ping_pong import EVB, deployment

PICO_W = board_definition("RPI_PICO_W")
WIZNET, FORK, OLD, NEW = "1.27.0-WIZnet", "1.17-145-g86125de2e-dirty", "1.20.0", "1.21.0"


def script(network: ClientNetwork, family: str, version: str, board: BoardDefinition = EVB) -> str:
    asked = replace(network, wifi=WifiCredentials("net", "not to be told")) if board is PICO_W else network
    content = deployment(family, asked, 50, version, board=board).files["main.py"].decode()
    compile(content, "main.py", "exec")
    return content


@pytest.mark.parametrize(
    ("family", "version", "board"),
    [
        ("micropython", "1.28.0", EVB),
        ("micropython", "1.20.0", EVB),
        ("wiznet", "1.20.0-370-g7bfc22571-dirty", EVB),
        ("micropython", NEW, PICO_W),
    ],
)
def test_other_releases_get_the_bytes_that_they_always_got(
    family: str, version: str, board: BoardDefinition, network: ClientNetwork
) -> None:
    assert script(network, family, version, board) == script(network, family, "1.26.1", board)


def test_wiznets_line_has_another_class(network: ClientNetwork) -> None:
    usual = script(network, "micropython", "1.26.1")
    assert script(network, "micropython", WIZNET) == usual.replace("network.WIZNET5K", "network.WIZNET6K") != usual
    assert nic_line("micropython", EVB, spi_hz=None, intn=True, version=WIZNET) == "network.WIZNET6K()"


@pytest.mark.parametrize("version", [FORK, ""])
def test_the_fork_s_chip_is_always_active_and_has_no_dhcp(version: str, network: ClientNetwork) -> None:
    """A build that names no release may be it."""
    names = _network_part(script(network, "wiznet", version))
    asked: list[Any] = []

    def ifconfig(setting: Any = None) -> tuple[str, ...]:
        if isinstance(setting, str):
            raise TypeError("object 'str' isn't a tuple or list")
        asked.append(setting)
        return ("192.168.1.20",)

    names["make_nic"] = lambda config: SimpleNamespace(ifconfig=ifconfig, isconnected=lambda: True)
    names["spi_hz_actual"] = lambda: 1_953_125
    with pytest.raises(OSError, match=r"^unsupported: this firmware has no DHCP client; add -s address_mode=static$"):
        names["get_address"]({"address_mode": "dhcp"})
    names["get_address"]({"address_mode": "static", "static": ["192.168.1.20", "m", "g", "d"]})
    assert asked[0] == ("192.168.1.20", "m", "g", "d") and names["RESULT"]["address"] == "192.168.1.20"


@pytest.mark.parametrize("version", ["1.18-10-g5db278f1d", "1.0.5", ""])
def test_a_driver_that_asks_for_its_address_when_it_becomes_active_is_not_asked_again(
    version: str, network: ClientNetwork
) -> None:
    names = _network_part(script(network, "wiznet", version))
    leased: list[bool] = []

    def ifconfig(setting: Any = None) -> tuple[str, ...]:
        if isinstance(setting, str):
            raise TypeError("object 'str' isn't a tuple or list")
        return ("192.168.1.20" if leased else "192.168.100.18",)

    nic = SimpleNamespace(active=leased.append, ifconfig=ifconfig, isconnected=lambda: True)
    names["make_nic"] = lambda config: nic
    names["spi_hz_actual"] = lambda: 1_953_125
    names["get_address"]({"address_mode": "static", "static": ["192.168.1.20", "m", "g", "d"]})
    # A build without a version may be a later one, which is dead until it is active.
    assert leased == ([] if version else [True]), "a static address needs no DHCP"
    names["get_address"]({"address_mode": "dhcp"})
    assert leased[-1:] == [True] and names["RESULT"]["address"] == "192.168.1.20"


@pytest.mark.parametrize("version", [FORK, "1.0.5", ""])
def test_the_clock_is_read_where_the_driver_set_it(
    version: str, network: ClientNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bus object has the clock that was asked for, the controller 48.8 kHz."""
    names = _network_part(script(network, "wiznet", version))
    registers = {0x4003C010: 10, 0x4003C000: 255 << 8 | 7}
    monkeypatch.setitem(sys.modules, "machine", SimpleNamespace(mem32=registers))  # type: ignore[arg-type]
    assert names["spi_hz_actual"]() == 48_828


@pytest.mark.parametrize("version", [OLD, "1.19.1-114-g1329155b9", ""])
@pytest.mark.parametrize(("power_save", "value"), [(False, 0x10), (True, 0xA11142)])
def test_an_old_radio_has_neither_constants_nor_signal(
    version: str, power_save: bool, value: int, network: ClientNetwork
) -> None:
    names = _network_part(script(network, "micropython", version, PICO_W))
    set_: list[Any] = []

    class Wlan:
        def __init__(self, interface: int) -> None:
            self.active = self.connect = lambda *values: None
            self.config = lambda **values: set_.append(values)
            self.ifconfig = lambda: ("192.168.1.20",)

        def status(self, name: str | None = None) -> int:
            if name is not None:
                raise ValueError("unknown status param")
            return 3

    vars(names["network"]).update(WLAN=Wlan, STA_IF=0)
    names["get_address"]({"address_mode": "dhcp", "power_save": power_save, "ssid": "net", "passphrase": "words"})
    assert set_ == [{"pm": value}]
    assert names["RESULT"]["address"] == "192.168.1.20" and "rssi_dbm" not in names["RESULT"]


def test_other_families_have_no_dialects() -> None:
    assert adapted("network.WIZNET5K", "circuitpython", WIZNET) == "network.WIZNET5K"


@pytest.mark.parametrize(("version", "passes"), [("8.2.2", [20_000, 10_000]), ("", [20_000, 10_000]), ("9.1.4", None)])
def test_a_coarse_clock_gets_enough_passes(
    version: str, passes: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = workload("interpreter")
    newest, files = (
        build_deployment("circuitpython", each, EVB, interpreter, interpreter.settings_type(), None).files
        for each in ("10.0.0", version)
    )
    if passes is None:
        assert files["code.py"] == newest["code.py"]
        return
    monkeypatch.setitem(sys.modules, "supervisor", ModuleType("supervisor"))
    tree = ast.parse(files["code.py"])
    names: dict[str, Any] = {}
    exec(compile(ast.Module(tree.body[:-1], []), "code.py", "exec"), names)
    now_ns = 0

    def took(ns: int) -> None:
        nonlocal now_ns
        now_ns += ns

    def clock() -> int:
        took(100_000)
        return now_ns // 976_562 * 976_562

    names["clock"] = clock
    names["loops"] = lambda: [
        ("short", lambda given: took(given[0] * 9_570), 10),
        ("long", lambda given: took(given[0] * 9_870), 10),
    ]
    names["interpreter"](10_000, 3)
    found = names["RESULT"]["loops"].values()
    assert [(each["passes"], len(each["times_us"])) for each in found] == [(each, 3) for each in passes]
    assert names["RESULT"]["clock_step_us"] == 976 and min(min(each["times_us"]) for each in found) >= 97_600


@pytest.mark.parametrize(
    ("family", "version", "client", "lost"),
    [
        ("wiznet", FORK, "nic = network.WIZNET5K()\n    nic.active(True)\n", "except OSError:  # the driver gave up"),
        ("micropython", OLD, "nic = network.WLAN(0)\npm = network.WLAN.PM_PERFORMANCE\n", "network.WLAN.PM_NONE"),
    ],
)
def test_a_client_that_a_dialect_no_longer_fits_is_refused(family: str, version: str, client: str, lost: str) -> None:
    with pytest.raises(PortbenchError, match=rf"{lost}' is not in the client for {family} {version}; adapt"):
        adapted(client, family, version)


@pytest.mark.parametrize(
    ("version", "has"),
    [(FORK, False), ("1.19.1", False), (OLD, False), ("1.20.0-370-g7bfc22571", True), (NEW, True), ("", True)],
)
def test_a_release_without_asyncio_is_unsupported(version: str, has: bool) -> None:
    """A build without numbers may be of any age."""
    client = "import asyncio\nimport time\n"
    if has:
        assert adapted(client, "micropython", version) == client
        return
    with pytest.raises(
        Unsupported, match=rf"^unsupported: asyncio is from MicroPython 1\.21 on, and this is {version}$"
    ):
        adapted(client, "micropython", version)
    assert adapted(client, "circuitpython", version) == client


def _network_part(script: str) -> dict[str, Any]:
    """The client's names, with empty modules of the board's, before `main` runs."""
    tree = ast.parse(script)
    assert isinstance(tree.body[-1], ast.Expr), "the call of main"
    names: dict[str, Any] = {}
    boards = {name: ModuleType(name) for name in ("machine", "network")}
    vars(boards["machine"]).update(SPI=None, Pin=None)
    with pytest.MonkeyPatch.context() as patch:
        for name, module in boards.items():
            patch.setitem(sys.modules, name, module)
        patch.setattr("time.ticks_ms", lambda: 0, raising=False)
        patch.setattr("time.ticks_us", lambda: 0, raising=False)
        exec(compile(ast.Module(tree.body[:-1], []), "main.py", "exec"), names)
    names["elapsed_us"] = lambda: 0
    names["remaining_ms"] = lambda config: 1000
    return names
