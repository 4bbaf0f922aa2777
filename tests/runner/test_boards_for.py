"""Which board a row gets, and what it costs when one is missing."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from portbench.boards import BoardUnavailable, BrokenSetup, Deadline
from portbench.boards.definition import PC_IP
from portbench.boards.hosted import micropython_unix
from portbench.boards.jitter import Surroundings
from portbench.boards.kinds import SAVED_FILES, Listener
from portbench.boards.wifi import AccessPoint
from portbench.runner.boards_for import open_board, where_for
from portbench.runner.options import BenchOptions, How, Place
from portbench.runner.plan import PlannedRow, plan
from portbench.where import Where

OPTIONS = BenchOptions().but(surroundings=Surroundings(300, 2.5))
LISTENER = Listener()


def row(runtime: str) -> PlannedRow:
    return plan(OPTIONS.but(runtimes=(runtime,)))[0]


IMAGE, UNIX, BLINKA = (row(name) for name in ("micropython-1.26.0", "micropython-unix", "circuitpython-blinka"))
NAMED = replace(IMAGE, device="id:E660")


def replace_import(monkeypatch: pytest.MonkeyPatch, import_module: Callable[[str], Any]) -> None:
    """Import what boards need by `import_module`, and their kinds as ever."""
    usual = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name: (usual if "kinds" in name else import_module)(name))


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, SimpleNamespace]:
    """Stands in for the modules that boards are imported from; others cannot be imported."""
    present: dict[str, SimpleNamespace] = {}

    def import_module(name: str) -> Any:
        if name not in present:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return present[name]

    replace_import(monkeypatch, import_module)
    return present


def limit() -> Deadline:
    return Deadline(10, "open")


def test_auto_prefers_a_board_on_usb(modules: dict[str, SimpleNamespace]) -> None:
    assert where_for(IMAGE) is Where.EMULATED
    modules["portbench.boards.usb.discovery"] = SimpleNamespace(attached=lambda definition: [])
    assert where_for(IMAGE) is Where.EMULATED
    modules["portbench.boards.usb.discovery"] = SimpleNamespace(attached=lambda definition: ["a board"])
    assert where_for(IMAGE) is Where.SILICON
    assert where_for(replace(IMAGE, place=Place("emulated"))) is Where.EMULATED
    assert where_for(UNIX) is Where.HOSTED


def test_a_named_device_is_real(modules: dict[str, SimpleNamespace]) -> None:
    assert where_for(NAMED) is Where.SILICON
    assert where_for(replace(IMAGE, place=Place("silicon"))) is Where.SILICON


def test_the_hosted_board_needs_nothing_else(modules: dict[str, Any]) -> None:
    modules["portbench.boards.hosted.micropython_unix"] = micropython_unix
    with open_board(UNIX, Where.HOSTED, limit(), LISTENER) as board:
        assert isinstance(board, micropython_unix.HostedMicroPython)


@pytest.mark.parametrize(
    ("planned", "where", "what"),
    [
        (IMAGE, Where.EMULATED, "the emulated board"),
        (IMAGE, Where.SILICON, "a board on USB"),
        (BLINKA, Where.HOSTED, "hosted"),
    ],
)
def test_what_is_missing_is_one_line(
    planned: PlannedRow, where: Where, what: str, modules: dict[str, SimpleNamespace]
) -> None:
    with pytest.raises(BoardUnavailable, match=f"^{what}.* cannot be used here .No module named .*; install what it"):
        open_board(planned, where, limit(), LISTENER)


@pytest.mark.parametrize("error", [ImportError, ModuleNotFoundError])
def test_a_missing_engine_is_a_broken_set_up(
    error: type[ImportError], modules: dict[str, SimpleNamespace], monkeypatch: Any
) -> None:
    def torn(name: str) -> Any:
        raise error("file too short", name="portbench_engine")

    replace_import(monkeypatch, torn)
    for planned, where in ((IMAGE, Where.EMULATED), (BLINKA, Where.HOSTED)):
        with pytest.raises(
            BrokenSetup,
            match=r"is missing or damaged \(file too short\); install Rust \(rustup\), then run: make build$",
        ):
            open_board(planned, where, limit(), LISTENER)


def test_the_emulated_board_gets_its_surroundings(modules: dict[str, SimpleNamespace]) -> None:
    modules["portbench.boards.emulated.config"] = SimpleNamespace(EmulatedConfig=dict)
    made = SimpleNamespace(EmulatedBoard=lambda definition, config, **named: (config, named))
    modules["portbench.boards.emulated.board"] = made
    opened: Any = open_board(IMAGE, Where.EMULATED, limit(), LISTENER)
    surroundings = {"turnaround_us": 300, "phy_link_delay_us": 2_500_000, "access_point": AccessPoint()}
    surroundings |= {"pc_ip": PC_IP, "server_port": 5000}
    assert opened == (surroundings, {"reuse_flash": True, "attribute": False, "log": LISTENER.log})
    with pytest.raises(BrokenSetup, match=r"^--deploy rshell: an emulated row has no serial port"):
        open_board(replace(IMAGE, how=How(deployer="rshell")), Where.EMULATED, limit(), LISTENER)


def test_a_real_board_keeps_its_users_files(modules: dict[str, SimpleNamespace]) -> None:
    modules["portbench.boards.usb.board"] = SimpleNamespace(UsbBoard=lambda definition, **named: named)
    opened: Any = open_board(NAMED, Where.SILICON, limit(), LISTENER)
    assert opened["device"] == "id:E660" and opened["save_files_to"] == SAVED_FILES
    assert opened["ask_bootsel"] is LISTENER.ask_bootsel and opened["log"] is LISTENER.log
