"""CircuitPython images that need another client: with frozen libraries, of which ours come first, and before 9.0."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from portbench.clients import ClientNetwork, build_deployment
from portbench.clients import deployment as module
from portbench.clients.deployment import after_usb, hidden, ours_first
from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.identify import identify
from tests.ping_pong import EVB, PING_PONG, settings

LIBRARIES = {"lib/adafruit_wiznet5k/__init__.py": b"", "lib/adafruit_ticks.py": b""}


@pytest.fixture(autouse=True)
def own_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "library_files", lambda major, timeout_s: dict(LIBRARIES))


def code(network: ClientNetwork, frozen: tuple[str, ...], version: str = "9.1.4") -> str:
    made = build_deployment("circuitpython", version, EVB, PING_PONG, settings(5), network, frozen=frozen)
    return made.files["code.py"].decode()


def test_a_micropython_image_with_a_main_of_its_own_is_refused(network: ClientNetwork) -> None:
    """Its main.py runs instead of the client's, and the run would wait for its deadline."""
    banner = b"MPY: soft reboot\n\0main.py\0FATAL\0MicroPython v1.19.1 on 2023-01-18\0"
    plain, own = (
        identify(uf2.parse(uf2.build(each.ljust(512, b"\0")), "it")).frozen
        for each in (banner, banner + b"dht.py\0main.py\0neopixel.py\0")
    )
    assert plain == frozenset() and own == {"main.py"}
    build_deployment("micropython", "1.19.1", EVB, PING_PONG, settings(5), network, frozen=plain)
    with pytest.raises(
        PortbenchError, match=r"^the image has a frozen main\.py, which it runs in place of a file; build"
    ):
        build_deployment("micropython", "1.19.1", EVB, PING_PONG, settings(5), network, frozen=own)


def test_only_the_client_for_such_an_image_differs(network: ClientNetwork) -> None:
    usual = code(network, ())
    assert code(network, ("neopixel", "json")) == usual
    assert code(network, ("adafruit_wiznet5k",)) == ours_first(usual) != usual
    assert hidden(LIBRARIES, {"adafruit_ticks", "neopixel", "adafruit_wiznet5k"}) == [
        "adafruit_ticks",
        "adafruit_wiznet5k",
    ]
    assert hidden([*LIBRARIES, "code.py"], ()) == []


def test_the_driver_is_named_after_it_was_imported(network: ClientNetwork) -> None:
    script = ours_first(code(network, ()))
    compile(script, "code.py", "exec")
    assert script.index("sys.path.insert") < script.index("import WIZNET5K") < script.index("LIBRARY =")
    assert script.index("RESULT = {}") < script.index('RESULT["library"] =')


def test_a_client_that_has_no_such_place_is_refused() -> None:
    with pytest.raises(PortbenchError, match="2 times, not once"):
        ours_first("def make_nic(config):\n    pass\n" * 2)


@pytest.mark.parametrize("frozen", [(), ("adafruit_wiznet5k",)])
@pytest.mark.parametrize(("connected_at", "looks"), [(0, 1), (7, 8), (1000, 200)])
def test_before_9_the_driver_waits_for_usb(
    connected_at: int, looks: int, frozen: tuple[str, ...], network: ClientNetwork
) -> None:
    script = code(network, frozen, "8.2.10")
    assert after_usb(code(network, ())) == script or ours_first(after_usb(code(network, ()))) == script
    looked: list[float] = []

    class Runtime:
        @property
        def usb_connected(self) -> bool:
            looked.append(0)
            return len(looked) > connected_at

    def sleep(seconds: float) -> None:
        looked[-1] += seconds

    def monotonic_ns() -> int:
        raise Begun

    waits = script[: script.index("from adafruit_wiznet5k.")]
    clock = SimpleNamespace(sleep=sleep, monotonic_ns=monotonic_ns)
    names = {"supervisor": SimpleNamespace(runtime=Runtime()), "time": clock, "sys": SimpleNamespace(path=[])}
    with pytest.raises(Begun):
        exec("\n".join(line for line in waits.splitlines() if not line.startswith(("import", "from"))), names)
    assert len(looked) == looks and sum(looked) == pytest.approx(0.005 * min(connected_at, 200))


class Begun(Exception):
    """The client's clock."""


@pytest.mark.parametrize("first", ["lib", "frozen"])
def test_the_library_that_runs_is_named(first: str, network: ClientNetwork, tmp_path: Path) -> None:
    """With the search path of CircuitPython, whatever stands first in it."""
    for folder, version in ((".frozen", "5.0.0"), ("lib", "7.4.5")):
        package = tmp_path / folder / "adafruit_wiznet5k"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "adafruit_wiznet5k.py").write_text(f"__version__ = {version!r}\nWIZNET5K = None\n")
    script = ours_first(code(network, ())).replace('"/lib"', repr(str(tmp_path / first)))
    head, _, _ = script.partition("def make_nic")
    of_boards = tuple(f"import {module}" for module in ("board", "busio", "digitalio", "supervisor"))
    run = "\n".join(line for line in head.splitlines() if not line.startswith(of_boards))
    run += "\nimport json\nprint(json.dumps(RESULT))\n"
    path = f"import sys\nsys.path[:0] = [{str(tmp_path / '.frozen')!r}, {str(tmp_path / 'lib')!r}]\n"
    done = subprocess.run([sys.executable, "-c", path + run], capture_output=True, text=True, check=True)
    folder, version = ("lib", "7.4.5") if first == "lib" else (".frozen", "5.0.0")
    where = tmp_path / folder / "adafruit_wiznet5k" / "adafruit_wiznet5k.py"
    assert json.loads(done.stdout) == {"library": f"{version} from {where}"}
