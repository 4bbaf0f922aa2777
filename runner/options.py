"""What a person can ask for on pytest's command line, checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import pytest

from portbench.boards import BoardDefinition, UnknownBoard, board_definition
from portbench.clients import AddressMode, StaticAddress
from portbench.results.storage import RESULTS_FOLDER
from portbench.runner.timeouts import DEFAULT_S, Stage

WhereChoice = Literal["auto", "silicon", "emulated", "hosted"]
Deployer = Literal["mpremote", "rshell"]

DEFAULT_BOARD = "W5500_EVB_PICO"
DEFAULT_PORT = 5000
DEFAULT_RUNS = 3

T = TypeVar("T")


@dataclass(frozen=True)
class BenchOptions:
    """The checked options of one bench run. See `add_options` for what each means."""

    board: BoardDefinition
    runtimes: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    where: WhereChoice = "auto"
    devices: tuple[str, ...] = ("auto",)
    parallel: int = 1
    messages: int = 1000
    runs: int = DEFAULT_RUNS
    timeouts_s: dict[Stage, float] = field(default_factory=lambda: dict(DEFAULT_S))
    deployer: Deployer = "mpremote"
    restore_files: bool = False
    server_host: str | None = None
    server_port: int = DEFAULT_PORT
    turnaround_us: int = 200
    phy_link_delay_s: float = 1.5
    address_mode: AddressMode = "dhcp"
    static: StaticAddress | None = None
    results_dir: Path = RESULTS_FOLDER


def add_options(parser: pytest.Parser) -> None:
    """Adds portbench's options to pytest's."""
    group = parser.getgroup("portbench", "portbench: which firmware to run, where and how")

    def add(name: str, help: str, **more: Any) -> None:
        group.addoption(name, dest="portbench_" + name[2:].replace("-", "_"), help=help, **more)

    add("--list-runtimes", "list the runtimes, their profiles and the boards, and stop", action="store_true")
    add("--list-boards", "list the attached boards and what runs on them, and stop", action="store_true")
    add("--runtime", "only this runtime: an id of the catalogue or a .uf2 file (repeatable)", action="append")
    add("--profile", "only this profile, such as tuned or as-published (repeatable)", action="append")
    add("--board", f"kind of board (default {DEFAULT_BOARD})", default=DEFAULT_BOARD)
    add("--where", "auto (default: a board on USB, else an emulated one), silicon, emulated or hosted", default="auto")
    add(
        "--device",
        "which board: auto (default), id:SERIAL, port:PATH, usb:PLACE, rfc2217://HOST:PORT, socket://HOST:PORT,"
        " labgrid:PLACE; repeatable: every row on each board",
        action="append",
    )
    add(
        "--parallel",
        "measure on this many boards at once: those of --device, else emulated ones (default 1: one after the other)",
        default="1",
        metavar="N",
    )
    add("--messages", "messages of one run (default 1000)")
    add("--runs", f"runs of every runtime and profile (default {DEFAULT_RUNS})", default=str(DEFAULT_RUNS))
    add(
        "--timeout-s",
        f"longest time of a stage, repeatable; now {', '.join(f'{s}={t:g}' for s, t in DEFAULT_S.items())}",
        action="append",
        metavar="STAGE=SECONDS",
    )
    add("--deploy", "how files get to MicroPython: mpremote (default) or rshell", default="mpremote")
    add("--restore-files", "at the end, put the files that were on a real board back on it", action="store_true")
    add("--server-host", "address of this PC that real boards reach (default: found; hosted rows use 127.0.0.1)")
    add(
        "--server-port",
        f"TCP port of the ping-pong server, 0 for a free one (default {DEFAULT_PORT})",
        default=str(DEFAULT_PORT),
    )
    add("--turnaround-us", "time the simulated PC takes to answer (default 200)", default="200")
    add("--phy-link-delay-s", "time until the emulated board's link is up (default 1.5)", default="1.5")
    add("--address-mode", "dhcp (default) or static", default="dhcp")
    add("--static-address", "a real board's IP,MASK,GATEWAY,DNS for --address-mode static")
    add("--results-dir", "where rows and logs go (default: results of the project)")


def read_options(config: pytest.Config) -> BenchOptions:
    """The options as given. Raises pytest.UsageError, one line that names option, value and choices."""

    def given(name: str) -> Any:
        return config.getoption("portbench_" + name)

    try:
        board = board_definition(given("board"))
    except UnknownBoard as error:
        raise pytest.UsageError(f"--board: {error}") from None
    static = _static(given("static_address"))
    address_mode = cast(AddressMode, _choice("--address-mode", given("address_mode"), ("dhcp", "static")))
    messages = given("messages")
    devices = tuple(given("device") or ["auto"])
    twice = next((each for each in devices if devices.count(each) > 1), None)
    if twice is not None:
        raise pytest.UsageError(f"--device: {twice!r} is given twice; name each board once")
    return BenchOptions(
        board=board,
        runtimes=tuple(given("runtime") or ()),
        profiles=tuple(given("profile") or ()),
        where=cast(WhereChoice, _choice("--where", given("where"), ("auto", "silicon", "emulated", "hosted"))),
        devices=devices,
        parallel=_number("--parallel", given("parallel"), int, 1, 64),
        messages=1000 if messages is None else _number("--messages", messages, int, 1, 1_000_000),
        runs=_number("--runs", given("runs"), int, 1, 1000),
        timeouts_s=DEFAULT_S | _timeouts(given("timeout_s") or []),
        deployer=cast(Deployer, _choice("--deploy", given("deploy"), ("mpremote", "rshell"))),
        restore_files=given("restore_files"),
        server_host=given("server_host"),
        server_port=_number("--server-port", given("server_port"), int, 0, 65535),
        turnaround_us=_number("--turnaround-us", given("turnaround_us"), int, 0, 1_000_000),
        phy_link_delay_s=_number("--phy-link-delay-s", given("phy_link_delay_s"), float, 0, 60),
        address_mode=address_mode,
        static=static,
        results_dir=Path(given("results_dir") or RESULTS_FOLDER),
    )


def _choice(option: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise pytest.UsageError(f"{option}: {value!r} is none of {', '.join(choices)}")
    return value


def _number(option: str, text: str, kind: Callable[[str], T], low: float, high: float) -> T:
    what = f"a {'whole ' if kind is int else ''}number from {low:g} to {high:,.0f}".replace(",", " ")
    try:
        value = kind(text)
    except ValueError:
        raise pytest.UsageError(f"{option}: {text!r} is not {what}") from None
    if not low <= cast(float, value) <= high:
        raise pytest.UsageError(f"{option}: {text} is not {what}")
    return value


def _timeouts(given: list[str]) -> dict[Stage, float]:
    timeouts: dict[Stage, float] = {}
    for text in given:
        name, equals, seconds = text.partition("=")
        if not equals or name not in DEFAULT_S:
            raise pytest.UsageError(
                f"--timeout-s: {text!r} is not STAGE=SECONDS with a stage of {', '.join(DEFAULT_S)}"
            )
        timeouts[Stage(name)] = _number(f"--timeout-s {name}", seconds, float, 0.001, 86400)
    return timeouts


def _static(text: str | None) -> StaticAddress | None:
    if text is None:
        return None
    try:
        ip, mask, gateway, dns = (IPv4Address(part) for part in text.split(","))
    except ValueError:
        raise pytest.UsageError(f"--static-address: {text!r} is not IP,MASK,GATEWAY,DNS") from None
    return StaticAddress(ip, mask, gateway, dns)
