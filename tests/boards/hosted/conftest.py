"""adafruit_wiznet5k on CPython against the engine's W5500, on simulated time: no test waits for a real second."""

import importlib
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from portbench.boards.definition import board_definition
from portbench.boards.hosted.blinka.modules import circuitpython_modules
from portbench.boards.hosted.blinka.wires import Wires
from portbench.clients.libraries import library_files
from tests.conftest import libraries_or_skip

MAC = "02:08:dc:55:00:01"
PC_IP = "192.168.50.1"
_DOWNLOAD_S = 30.0


class SimulatedClock:
    """The LAN's own time; every pin or SPI access costs the program a little, so that polling loops end."""

    def __init__(self, lan: Any, access_us: float) -> None:
        self._lan = lan
        self._access_us = access_us

    def now_us(self) -> float:
        return float(self._lan.time_us) + self._access_us

    def wait_until_us(self, time_us: float) -> None:
        assert self._lan.time_us >= time_us


class Bench:
    """One simulated chip and LAN, and the driver's modules freshly imported on top of it."""

    def __init__(self, settings: dict[str, Any], modules: dict[str, ModuleType], lan: Any) -> None:
        self.settings = settings
        self.lan = lan
        self.board = modules["board"]
        self.busio = modules["busio"]
        self.digitalio = modules["digitalio"]
        self.driver: Any = importlib.import_module("adafruit_wiznet5k.adafruit_wiznet5k")
        self._sockets = _socket_module()

    def nic(self, *, dhcp: bool = True) -> Any:
        """The driver on the chip, reset by RSTn as the client does it."""
        rstn = self.digitalio.DigitalInOut(self.board.GP20)
        rstn.switch_to_output(False)
        self.pass_time(0.001)
        rstn.value = True
        spi = self.busio.SPI(self.board.GP18, MOSI=self.board.GP19, MISO=self.board.GP16)
        return self.driver.WIZNET5K(spi, self.digitalio.DigitalInOut(self.board.GP17), is_dhcp=dhcp, mac=MAC)

    def sockets(self, eth: Any) -> Any:
        """Return the maker of sockets: a module with the older driver, a pool with the newest."""
        if hasattr(self._sockets, "SocketPool"):
            return self._sockets.SocketPool(eth)
        self._sockets.set_interface(eth)
        return self._sockets

    def pass_time(self, seconds: float) -> None:
        self.lan.advance(seconds * 1e6)


MakeBench = Callable[..., Bench]


@pytest.fixture(scope="session")
def older_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """adafruit_wiznet5k 5.0.3, with adafruit_wiznet5k_socket, as it is deployed to CircuitPython 8."""
    folder = tmp_path_factory.mktemp("circuitpython8")
    with libraries_or_skip():
        files = library_files(8, _DOWNLOAD_S)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "lib"


@pytest.fixture(params=["newest", "older"])
def driver_path(request: pytest.FixtureRequest) -> list[str]:
    """Folders from which to import the driver first."""
    if request.param == "newest":
        pytest.importorskip("adafruit_wiznet5k")
        return []
    return [str(request.getfixturevalue("older_driver"))]


@pytest.fixture
def make_bench(driver_path: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeBench]:
    """Makes a Bench with these network settings; `access_us` is what a pin or SPI access costs the program."""

    def make(access_us: float = 40.0, **settings: Any) -> Bench:

        from portbench_engine import ChipLan

        _forget_driver()
        lan = ChipLan("W5500", {"phy_link_delay_us": 500_000} | settings)
        ethernet = board_definition("W5500_EVB_PICO").network
        assert ethernet is not None
        wires = Wires(lan, ethernet, SimulatedClock(lan, access_us))
        modules = circuitpython_modules(wires)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        for folder in driver_path:
            monkeypatch.syspath_prepend(folder)
        simulated_time: Any = SimpleNamespace(
            sleep=lambda seconds: lan.advance(seconds * 1e6),
            monotonic=lambda: lan.time_us / 1e6,
            monotonic_ns=lambda: round(lan.time_us * 1000),
        )
        random.seed(1)  # the driver draws its ports
        with monkeypatch.context() as importing:
            importing.setitem(sys.modules, "time", simulated_time)
            return Bench(settings, modules, lan)

    yield make
    _forget_driver()


def _socket_module() -> Any:
    """It moved in April 2024."""
    try:
        return importlib.import_module("adafruit_wiznet5k.adafruit_wiznet5k_socketpool")
    except ImportError:
        return importlib.import_module("adafruit_wiznet5k.adafruit_wiznet5k_socket")


def _forget_driver() -> None:
    for name in [name for name in sys.modules if name.startswith("adafruit_")]:
        del sys.modules[name]
