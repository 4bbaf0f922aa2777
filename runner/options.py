"""Options of portbench's command line and of pytest's, with their checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from portbench.boards import BoardDefinition, Wifi, board_definition
from portbench.boards.definition import MASK, PC_IP, SERVER_PORT, board_address
from portbench.boards.jitter import Surroundings
from portbench.boards.releases import is_selector, selected
from portbench.boards.wifi import AccessPoint
from portbench.clients import AddressMode, StaticAddress
from portbench.clients.own_libraries import OwnLibrary, read_library
from portbench.errors import LibraryMissing, OptionError, PortbenchError, UnknownName, unknown
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Family, Profile
from portbench.results.model import NAME
from portbench.results.storage import RESULTS_FOLDER
from portbench.runner.settings import (
    FIXED,
    PROFILE_SETTINGS,
    WIFI,
    Axis,
    common_settings,
    read_settings,
    workload_settings,
)
from portbench.runner.stages import DEFAULT_S, Stage
from portbench.workloads import Workload, WorkloadSettings, workloads

WhereChoice = Literal["auto", "silicon", "emulated", "hosted"]
Deployer = Literal["mpremote", "rshell"]

DEFAULT_BOARD: Final = "W5500_EVB_PICO"
DEFAULT_RUNS: Final = 3


EVERY_WORKLOAD: Final = "all"
"""In the place of a workload's name."""

WORDS: Final = ("messages", "requests")
"""Settings that are also options: `--messages 100` is `-s messages=100`."""


@dataclass(frozen=True)
class What:
    """Rows to measure, and the settings of their workloads and profiles.

    `board` None: each runtime's board. `settings`: of workloads, by name; `profile_sets`: of profiles. `axes`: settings
    with several values, each combination of which is measured. `quick`: settings that are not given are the workloads'
    shortest, not their defaults.
    """

    board: BoardDefinition | None = None
    workloads: tuple[Workload, ...] = ()
    workloads_by_name: bool = True
    """The user named each workload: one that a runtime cannot run is an error, and is not left out."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    profile_sets: Mapping[str, Any] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    quick: bool = False
    runtimes: tuple[str, ...] = ()
    family: Family | None = None
    """Family of the files among `runtimes`; None: read from each file."""
    profiles: tuple[str, ...] = ()
    newest: bool = False
    """Only the newest runtime of each family, with its last profile."""
    runs: int = DEFAULT_RUNS

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """The named workloads, else the default ones."""
        return self.workloads or _usual_workloads()

    def settings_for(self, workload: Workload, profile: Profile) -> WorkloadSettings:
        """The workload's settings: its defaults, then the profile's in the catalogue, then the user's.

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
            source = name if name in self.settings else f"profile {profile.name!r}: {name}"
            if detail["type"] == "extra_forbidden":
                raise OptionError(f"{source}: is not a setting of {workload.name}; it has {', '.join(names)}") from None
            said = detail["msg"].removeprefix("Input should be ")
            raise OptionError(f"{source}: {detail['input']!r} is not {said} ({workload.name})") from None


@dataclass(frozen=True)
class Place:
    """Boards to measure rows on; `parallel`: so many at once."""

    where: WhereChoice = "auto"
    devices: tuple[str, ...] = ("auto",)
    partner_device: str | None = None
    """The partner, if the client's board is real."""
    parallel: int = 1


@dataclass(frozen=True)
class How:
    """Limits, tools, network and surroundings of a row, and the looks that are taken at it."""

    timeouts_s: dict[Stage, float] = field(default_factory=lambda: dict(DEFAULT_S))
    deployer: Deployer = "mpremote"
    server_host: str | None = None
    server_port: int | None = None
    """The port that was given; None: `port_to_boards` and `fixed_port` choose."""
    pc_address: IPv4Address = PC_IP
    """Address of the simulated PC."""
    surroundings: Surroundings = field(default_factory=Surroundings)
    access_point: AccessPoint = field(default_factory=AccessPoint)
    address_mode: AddressMode = "dhcp"
    static: StaticAddress | None = None
    attribute: bool = False
    what_if: bool = False
    layouts: int = 0
    """Other layouts of the flash in which emulated rows are run, too."""
    libraries: tuple[OwnLibrary, ...] = ()
    """The user's, in the place of the pinned ones."""

    @property
    def port_to_boards(self) -> int:
        """The server's port on an interface that real boards reach, 0 for a free one."""
        return SERVER_PORT if self.server_port is None else self.server_port

    @property
    def fixed_port(self) -> int:
        """The port that the board has to know beforehand: of a simulated PC, and of a board that listens."""
        return self.server_port or SERVER_PORT


@dataclass(frozen=True)
class Output:
    """Name and files of a run."""

    name: str | None = None
    results_dir: Path = RESULTS_FOLDER
    required: tuple[str, ...] = ()
    elfs: Mapping[Path, Path] = field(default_factory=dict)
    """Files with the names of functions, by the image that they are for."""


@dataclass(frozen=True)
class BenchOptions:
    """The checked options of one bench, declared in `runner.cli.options` and `runner.settings`."""

    what: What = field(default_factory=What)
    place: Place = field(default_factory=Place)
    how: How = field(default_factory=How)
    output: Output = field(default_factory=Output)

    def but(self, **values: Any) -> BenchOptions:
        """These options with other `values`, by the names that they have in their parts."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        names = {name: {each.name for each in fields(part)} & values.keys() for name, part in parts.items()}
        if unknown_ones := values.keys() - set().union(*names.values()):
            raise TypeError(f"no part has {', '.join(unknown_ones)}")
        changed = {name: {key: values[key] for key in found} for name, found in names.items()}
        return BenchOptions(**{name: replace(part, **changed[name]) for name, part in parts.items()})


_AS_GIVEN: Final = ("where", "parallel", "runs", "deployer", "attribute", "what_if", "layouts", "results_dir")


def read_options(given: Mapping[str, Any], *, sweeps: bool = False) -> BenchOptions:
    """Check the options of `runner.cli.options` by name; one that was not given is None or absent. Raises OptionError,
    and LibraryMissing for a tool that no row could do without.

    `sweeps`: a setting may have several values. Then nothing varies unless a seed is given.
    """
    named = _several(given, "workload")
    chosen = chosen_workloads(named)
    measured = chosen or _usual_workloads()
    settings = _settings(given, measured)
    axes = tuple(axis for axis in settings.values() if len(axis.values) > 1)
    if axes and not sweeps:
        several = ",".join(map(str, axes[0].values))
        raise OptionError(f"{axes[0].name}: {several} are several values, which portbench run measures; give one here")
    usual = {each.name: each.default for each in common_settings().values()} | ({"seed": FIXED} if axes else {})
    single = {axis.name: axis.values[0] for axis in settings.values() if axis not in axes}
    around = usual | single
    own = workload_settings(measured)
    runtimes = tuple(_each_runtime(_named(given, settings, "runtime"), given.get("board")))
    profiles = _named(given, settings, "profile")
    board, seed = given.get("board"), None if around["seed"] == FIXED else int(around["seed"])
    devices = _several(given, "device") or ("auto",)
    twice = next((each for each in devices if devices.count(each) > 1), None)
    if twice is not None:
        raise OptionError(f"--device: {twice!r} is given twice; name each board once")
    asked = {name: given[name] for name in _AS_GIVEN if given.get(name)}
    asked.setdefault("runs", 1 if seed is None else DEFAULT_RUNS)
    if given.get("deployer") == "rshell":
        LibraryMissing.unless_found("rshell", "rshell", "--deploy rshell")
    return BenchOptions().but(
        board=None if board is None else _board(board),
        workloads=chosen,
        workloads_by_name=EVERY_WORKLOAD not in named,
        settings={name: value for name, value in single.items() if name in own},
        profile_sets={name: value for name, value in single.items() if name in PROFILE_SETTINGS},
        axes=axes,
        runtimes=runtimes,
        family=None if given.get("family") in (None, "auto") else Family(given["family"]),
        profiles=profiles,
        newest=not (runtimes or profiles or given.get("all")),
        devices=devices,
        partner_device=_partner_device(given.get("partner_device"), devices),
        timeouts_s={stage: around[f"timeout_{stage}_s"] for stage in DEFAULT_S},
        server_host=around["server_host"],
        server_port=around["server_port"],
        pc_address=_pc_address(around["pc_address"]),
        surroundings=Surroundings(around["turnaround_us"], around["phy_link_delay_s"], seed),
        access_point=_access_point(around, settings, given),
        address_mode=around["address_mode"],
        static=_static(around["static_address"]),
        libraries=_libraries(_several(given, "library")),
        name=_run_name(given.get("name")),
        required=tuple(given.get("required") or ()),
        **asked,
    )


def _several(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The values of an option that some commands take once."""
    value = given.get(name) or ()
    return (value,) if isinstance(value, str) else tuple(value)


def _board(name: str) -> BoardDefinition:
    try:
        return board_definition(name)
    except PortbenchError as error:
        raise OptionError(f"--board: {error}") from None


def _partner_device(device: str | None, devices: tuple[str, ...]) -> str | None:
    if device is not None and (device == "auto" or device in devices):
        raise OptionError(f"--partner-device: {device!r} may be the client's board; name another one, as id:SERIAL")
    return device


def chosen_workloads(names: tuple[str, ...] | list[str]) -> tuple[Workload, ...]:
    """The workloads of these names, or all. Raises OptionError."""
    try:
        known = workloads()
    except UnknownName as error:
        raise OptionError(str(error)) from None
    if EVERY_WORKLOAD in names:
        return tuple(known.values())
    for name in names:
        if name not in known:
            raise OptionError(f"--workload: {unknown('workload', name, known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def _usual_workloads() -> tuple[Workload, ...]:
    return tuple(each for each in workloads().values() if each.by_default)


def _libraries(given: tuple[str, ...]) -> tuple[OwnLibrary, ...]:
    found = tuple(map(read_library, given))
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(f"--library: {twice} is given twice; give it once, or compare one image or two")
    return found


def _run_name(text: str | None) -> str | None:
    if text is not None and (re.match(NAME, text) is None or text == "latest"):
        raise OptionError(f"--name: {text!r} is not a name; use letters, digits, dots, dashes and slashes, not latest")
    return text


def _settings(given: Mapping[str, Any], measured: tuple[Workload, ...]) -> dict[str, Axis]:
    words = [f"{word}={given[word]}" for word in WORDS if given.get(word) is not None]
    return read_settings([*words, *(given.get("setting") or ())], measured)


def _named(given: Mapping[str, Any], settings: Mapping[str, Axis], name: str) -> tuple[str, ...]:
    """Runtimes or profiles from the option and from the setting of this name."""
    return (*_several(given, name), *(settings[name].values if name in settings else ()))


def _each_runtime(names: Iterable[str], board: str | None) -> Iterator[str]:
    """`names` with the ids that selectors stand for. Raises OptionError."""
    for name in names:
        if not is_selector(name):
            yield name
            continue
        try:
            found = selected(name, _board(board or DEFAULT_BOARD), catalogue.load())
        except PortbenchError as error:
            raise OptionError(str(error)) from None
        yield from (entry.id for entry in found)


def _access_point(around: Mapping[str, Any], settings: Mapping[str, Axis], given: Mapping[str, Any]) -> AccessPoint:
    name = given.get("board") or (None if given.get("runtime") else DEFAULT_BOARD)
    asked = next((each for each in settings if each.startswith(WIFI)), None)
    if asked and name is not None and not isinstance((board := _board(name)).network, Wifi):
        raise OptionError(f"{asked}: {board.title} has no radio chip; choose another --board, such as RPI_PICO_W")
    values = {each.removeprefix(WIFI): value for each, value in around.items() if each.startswith(WIFI)}
    try:
        return AccessPoint(**values | {"passphrase": values["passphrase"] or None})
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        said = detail["msg"][0].lower() + detail["msg"][1:]
        raise OptionError(f"{WIFI}{detail['loc'][0]}: {detail['input']!r}: {said}") from None


def _pc_address(text: str) -> IPv4Address:
    try:
        address = IPv4Address(text)
    except ValueError:
        raise OptionError(f"pc_address: {text!r} is not an IPv4 address; write {PC_IP}") from None
    host = int(address) & ~int(MASK) & 0xFF
    if host in (0, 255) or address == board_address(address) or not address.is_private:
        raise OptionError(f"pc_address: {text} cannot be a PC's; use a private address that ends with .1")
    return address


def _static(text: str | None) -> StaticAddress | None:
    if text is None:
        return None
    try:
        ip, mask, gateway, dns = (IPv4Address(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"static_address: {text!r} is not IP,MASK,GATEWAY,DNS") from None
    return StaticAddress(ip, mask, gateway, dns)
