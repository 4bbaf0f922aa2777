"""What a person can ask for, on portbench's command line or on pytest's: each option once, and checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from pydantic import ValidationError

from portbench.boards import BadDefinition, BoardDefinition, UnknownBoard, Wifi, board_definition
from portbench.boards.emulated.access_point import AccessPoint
from portbench.boards.jitter import MOST_SEED
from portbench.clients import AddressMode, StaticAddress
from portbench.errors import OptionError
from portbench.firmware.catalogue import Family, Profile
from portbench.firmware.identify import IMAGE_FAMILIES
from portbench.results.model import NAME
from portbench.results.storage import RESULTS_FOLDER
from portbench.runner.access_point import read_access_point
from portbench.runner.stages import DEFAULT_S, Stage
from portbench.workloads import UnknownWorkload, Workload, WorkloadSettings, workloads

WhereChoice = Literal["auto", "silicon", "emulated", "hosted"]
Deployer = Literal["mpremote", "rshell"]

DEFAULT_BOARD: Final = "W5500_EVB_PICO"
DEFAULT_PORT: Final = 5000
DEFAULT_RUNS: Final = 3
DEFAULT_SEED: Final = 1
FIXED: Final = "fixed"

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One option of the command lines. `completes`: what its values are, for a shell's completion."""

    flag: str
    help: str
    default: str | None = None
    repeatable: bool = False
    is_flag: bool = False
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    completes: Literal["runtime", "workload", "board", "profile", "folder", "device"] | None = None

    @property
    def name(self) -> str:
        """`--phy-link-delay-s` -> `phy_link_delay_s`"""
        return self.flag[2:].replace("-", "_")


EVERY_WORKLOAD: Final = "all"
"""In the place of a workload's name."""

OPTIONS: Final = (
    Option(
        "--workload",
        "what to measure, or all (repeatable; default: the default one of `portbench list`)",
        repeatable=True,
        completes="workload",
    ),
    Option(
        "--runtime",
        "only this runtime: an id of the catalogue or a .uf2 file (repeatable)",
        repeatable=True,
        completes="runtime",
    ),
    Option(
        "--family",
        "how the .uf2 files of --runtime are talked to: auto (default: as each says it is, else foreign: left to"
        f" itself, timed by the PC), {', '.join(IMAGE_FAMILIES)}",
        default="auto",
        metavar="NAME",
        choices=("auto", *map(str, IMAGE_FAMILIES)),
    ),
    Option(
        "--profile",
        "only this profile, as tuned or as-published (repeatable)",
        repeatable=True,
        completes="profile",
    ),
    Option("--board", f"kind of board (default {DEFAULT_BOARD}, or that of --runtime)", completes="board"),
    Option(
        "--where",
        "auto (default: a board on USB, else an emulated one), silicon, emulated or hosted",
        default="auto",
        choices=("auto", "silicon", "emulated", "hosted"),
    ),
    Option(
        "--device",
        "which board: auto (default), id:SERIAL, port:PATH, usb:PLACE, rfc2217://HOST:PORT, socket://HOST:PORT,"
        " labgrid:PLACE; repeatable: every row on each board",
        repeatable=True,
        completes="device",
    ),
    Option(
        "--partner-device",
        "of two real boards, the one that serves: as for --device, but auto",
        metavar="DEVICE",
        completes="device",
    ),
    Option(
        "--parallel",
        "measure on this many boards at once: those of --device, else emulated ones (default: emulated ones on all of"
        " this PC's cores, others one after the other)",
        default="1",
        metavar="N",
    ),
    Option(
        "--runs",
        f"runs of every row (default {DEFAULT_RUNS}; 1 with --seed fixed)",
        default=str(DEFAULT_RUNS),
        metavar="N",
    ),
    Option(
        "--timeout-s",
        f"longest time of a stage, repeatable; now {', '.join(f'{s}={t:g}' for s, t in DEFAULT_S.items())}",
        repeatable=True,
        metavar="STAGE=SECONDS",
    ),
    Option(
        "--deploy",
        "how files get to MicroPython: mpremote (default) or rshell",
        default="mpremote",
        choices=("mpremote", "rshell"),
    ),
    Option("--restore-files", "at the end, put the files that were on a real board back on it", is_flag=True),
    Option("--server-host", "address of this PC that real boards reach (default: found; hosted rows use 127.0.0.1)"),
    Option(
        "--server-port",
        f"TCP port of the workload's server, 0 for a free one (default {DEFAULT_PORT})",
        default=str(DEFAULT_PORT),
    ),
    Option("--turnaround-us", "time the simulated PC takes to answer (default 200)", default="200"),
    Option("--phy-link-delay-s", "time until the emulated board's link is up (default 1.5)", default="1.5"),
    Option(
        "--access-point",
        f"of the emulated access point: {', '.join(vars(AccessPoint()))} (repeatable; see docs/pico-w.md)",
        repeatable=True,
        metavar="KEY=VALUE",
    ),
    Option(
        "--seed",
        f"what varies in a real room, drawn from this number for each run of emulated boards (default {DEFAULT_SEED});"
        " fixed: nothing varies, and one run is exact",
        default=str(DEFAULT_SEED),
        metavar="N|fixed",
    ),
    Option("--address-mode", "dhcp (default) or static", default="dhcp", choices=("dhcp", "static")),
    Option("--static-address", "a real board's IP,MASK,GATEWAY,DNS for --address-mode static"),
    Option("--name", "what to call this run, as pr-1234: `portbench compare` and --baseline find it by that"),
    Option(
        "--require",
        "a runtime whose rows must be measured, or all: they fail where they would be skipped (repeatable)",
        repeatable=True,
        metavar="RUNTIME",
        completes="runtime",
    ),
    Option("--attribute", "keep where the time of emulated rows went: for `portbench explain`", is_flag=True),
    Option("--what-if", "keep what one change at a time would bring to emulated rows", is_flag=True),
    Option("--results-dir", "where rows and logs go (default: the folder results here)", completes="folder"),
)


@dataclass(frozen=True)
class BenchOptions:
    """The checked options of one bench. See `OPTIONS` for what each means.

    `seed` None: nothing varies.

    `board` None: each runtime's own. `settings`: of workloads, by the setting's name, as given. `quick`: what is not
    given is not the workloads' defaults, but their shortest.
    """

    board: BoardDefinition | None = None
    workloads: tuple[Workload, ...] = ()
    workloads_by_name: bool = True
    """Each of them was asked for: what a runtime cannot run is a mistake and not left out."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    runtimes: tuple[str, ...] = ()
    family: Family | None = None
    """Of the files among `runtimes`; None: what each says."""
    profiles: tuple[str, ...] = ()
    where: WhereChoice = "auto"
    devices: tuple[str, ...] = ("auto",)
    partner_device: str | None = None
    """The board that serves where the client's is real."""
    parallel: int = 1
    runs: int = DEFAULT_RUNS
    timeouts_s: dict[Stage, float] = field(default_factory=lambda: dict(DEFAULT_S))
    deployer: Deployer = "mpremote"
    restore_files: bool = False
    server_host: str | None = None
    server_port: int = DEFAULT_PORT
    turnaround_us: int = 200
    phy_link_delay_s: float = 1.5
    access_point: AccessPoint = field(default_factory=AccessPoint)
    seed: int | None = None
    address_mode: AddressMode = "dhcp"
    attribute: bool = False
    what_if: bool = False
    static: StaticAddress | None = None
    name: str | None = None
    required: tuple[str, ...] = ()
    results_dir: Path = RESULTS_FOLDER

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """Those asked for, else those that are measured by default."""
        return self.workloads or tuple(each for each in workloads().values() if each.by_default)

    def settings_for(self, workload: Workload, profile: Profile) -> WorkloadSettings:
        """The workload's settings: its own defaults, the profile's in the catalogue, what was asked for.

        Raises OptionError.
        """
        names = workload.settings_type.model_fields
        values = workload.quick().model_dump() if self.quick else {}
        values |= profile.settings.get(workload.name, {})
        values |= {name: value for name, value in self.settings.items() if name in names}
        try:
            return workload.settings_type.model_validate(values, strict=False)
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            name = ".".join(map(str, detail["loc"]))
            source = f"--{name.replace('_', '-')}" if name in self.settings else f"profile {profile.name!r}: {name}"
            if detail["type"] == "extra_forbidden":
                raise OptionError(f"{source}: is no setting of {workload.name}; it has {', '.join(names)}") from None
            said = detail["msg"].removeprefix("Input should be ")
            raise OptionError(f"{source}: {detail['input']!r} is not {said} ({workload.name})") from None


def workload_options() -> tuple[Option, ...]:
    """An option for each setting of each workload; those that several have are one. Raises OptionError."""
    told: dict[str, list[str]] = {}
    try:
        for each in workloads().values():
            for name, info in each.settings_type.model_fields.items():
                told.setdefault(name, []).append(f"{each.name}: {info.description} (default {info.default})")
    except UnknownWorkload as error:
        raise OptionError(str(error)) from None
    taken = {option.name for option in OPTIONS}
    if clash := next((name for name in told if name in taken), None):
        raise OptionError(f"setting {clash!r} of a workload ({told[clash][0]}) has the name of an option; rename it")
    return tuple(Option(f"--{name.replace('_', '-')}", "; ".join(lines)) for name, lines in told.items())


def read_options(given: Mapping[str, Any]) -> BenchOptions:
    """The options as given, by `Option.name`; None where one was not given. Raises OptionError."""
    board, seed = given.get("board"), _seed(given)
    devices = tuple(given.get("device") or ["auto"])
    twice = next((each for each in devices if devices.count(each) > 1), None)
    if twice is not None:
        raise OptionError(f"--device: {twice!r} is given twice; name each board once")
    chosen = _workloads(given.get("workload") or ())
    settings = {option.name: given[option.name] for option in workload_options() if given.get(option.name) is not None}
    options = BenchOptions(
        board=None if board is None else _board(board),
        workloads=chosen,
        workloads_by_name=EVERY_WORKLOAD not in (given.get("workload") or ()),
        settings=settings,
        runtimes=tuple(given.get("runtime") or ()),
        family=None if (family := _choice(given, "family")) == "auto" else Family(family),
        profiles=tuple(given.get("profile") or ()),
        where=cast(WhereChoice, _choice(given, "where")),
        devices=devices,
        partner_device=_partner_device(given.get("partner_device"), devices),
        parallel=_number(given, "parallel", int, 1, 64),
        runs=_number(given, "runs", int, 1, 1000) if given.get("runs") is not None or seed is not None else 1,
        timeouts_s=DEFAULT_S | _timeouts(given.get("timeout_s") or []),
        deployer=cast(Deployer, _choice(given, "deploy")),
        restore_files=bool(given.get("restore_files")),
        server_host=given.get("server_host"),
        server_port=_number(given, "server_port", int, 0, 65535),
        turnaround_us=_number(given, "turnaround_us", int, 0, 1_000_000),
        phy_link_delay_s=_number(given, "phy_link_delay_s", float, 0, 60),
        access_point=_access_point(given),
        seed=seed,
        address_mode=cast(AddressMode, _choice(given, "address_mode")),
        static=_static(given.get("static_address")),
        name=_run_name(given.get("name")),
        required=tuple(given.get("require") or ()),
        attribute=bool(given.get("attribute")),
        what_if=bool(given.get("what_if")),
        results_dir=Path(given.get("results_dir") or RESULTS_FOLDER),
    )
    known = {name for each in options.chosen_workloads for name in each.settings_type.model_fields}
    if idle := next((name for name in settings if name not in known), None):
        names = ", ".join(each.name for each in options.chosen_workloads)
        raise OptionError(f"--{idle.replace('_', '-')}: is no setting of {names}; choose another --workload")
    return options


_BY_NAME: Final = {option.name: option for option in OPTIONS}


def _value(given: Mapping[str, Any], name: str) -> Any:
    value = given.get(name)
    return _BY_NAME[name].default if value is None else value


def _board(name: str) -> BoardDefinition:
    try:
        return board_definition(name)
    except (BadDefinition, UnknownBoard) as error:
        raise OptionError(f"--board: {error}") from None


def _partner_device(device: str | None, devices: tuple[str, ...]) -> str | None:
    if device is not None and (device == "auto" or device in devices):
        raise OptionError(f"--partner-device: {device!r} may be the client's board; name another one, as id:SERIAL")
    return device


def _workloads(names: tuple[str, ...] | list[str]) -> tuple[Workload, ...]:
    try:
        known = workloads()
    except UnknownWorkload as error:
        raise OptionError(str(error)) from None
    if EVERY_WORKLOAD in names:
        return tuple(known.values())
    for name in names:
        if name not in known:
            raise OptionError(f"--workload: {name!r} is none of {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def _choice(given: Mapping[str, Any], name: str) -> str:
    option, value = _BY_NAME[name], _value(given, name)
    if value not in option.choices:
        raise OptionError(f"{option.flag}: {value!r} is none of {', '.join(option.choices)}")
    return cast(str, value)


def _number(given: Mapping[str, Any], name: str, kind: Callable[[str], T], low: float, high: float) -> T:
    return _checked(_BY_NAME[name].flag, str(_value(given, name)), kind, low, high)


def _run_name(text: str | None) -> str | None:
    if text is not None and (re.match(NAME, text) is None or text == "latest"):
        raise OptionError(f"--name: {text!r} is no name; use letters, digits, dots, dashes and slashes, and not latest")
    return text


def _seed(given: Mapping[str, Any]) -> int | None:
    """None where nothing is to vary."""
    text = str(_value(given, "seed"))
    if text == FIXED:
        return None
    try:
        return _checked("--seed", text, int, 0, MOST_SEED)
    except OptionError as error:
        raise OptionError(f"{error}, or {FIXED}") from None


def _checked(option: str, text: str, kind: Callable[[str], T], low: float, high: float) -> T:
    what = f"a {'whole ' if kind is int else ''}number from {low:g} to {high:,.0f}".replace(",", " ")
    try:
        value = kind(text)
    except ValueError:
        raise OptionError(f"{option}: {text!r} is not {what}") from None
    if not low <= cast(float, value) <= high:
        raise OptionError(f"{option}: {text} is not {what}")
    return value


def _access_point(given: Mapping[str, Any]) -> AccessPoint:
    asked = given.get("access_point") or ()
    name = given.get("board") or (None if given.get("runtime") else DEFAULT_BOARD)
    if asked and name is not None and not isinstance((board := _board(name)).network, Wifi):
        raise OptionError(f"--access-point: {board.title} has no radio chip; name one that has with --board")
    try:
        return read_access_point(asked)
    except ValueError as error:
        raise OptionError(f"--access-point: {error}") from None


def _timeouts(given: list[str] | tuple[str, ...]) -> dict[Stage, float]:
    timeouts: dict[Stage, float] = {}
    for text in given:
        name, equals, seconds = text.partition("=")
        if not equals or name not in DEFAULT_S:
            raise OptionError(f"--timeout-s: {text!r} is not STAGE=SECONDS with a stage of {', '.join(DEFAULT_S)}")
        timeouts[Stage(name)] = _checked(f"--timeout-s {name}", seconds, float, 0.001, 86400)
    return timeouts


def _static(text: str | None) -> StaticAddress | None:
    if text is None:
        return None
    try:
        ip, mask, gateway, dns = (IPv4Address(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"--static-address: {text!r} is not IP,MASK,GATEWAY,DNS") from None
    return StaticAddress(ip, mask, gateway, dns)
