"""Settings of a row, their defaults, and the syntax of `-s NAME=VALUE`.

A row has the settings of its workload, those of its profile, and those of its surroundings: the board's link and radio
network, the PC and the limits of time.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args, get_origin

from portbench.boards.definition import MASK, PC_IP, PHY_LINK_DELAY_S, SERVER_PORT, TURNAROUND_US
from portbench.boards.jitter import MOST_SEED
from portbench.boards.wifi import AccessPoint
from portbench.errors import OptionError, unknown
from portbench.firmware.catalogue import Family
from portbench.runner.stages import DEFAULT_S
from portbench.workloads import Readiness, Workload, workloads

FIXED: Final = "fixed"
"""A seed value: nothing varies."""
WIFI: Final = "wifi_"
"""Begins the names of the emulated access point's settings."""
CHOICES: Final = ("runtime", "profile")
"""The settings that choose rows."""
MOST_POINTS: Final = 100_000
_MOST_VALUES: Final = 10_000
_SCALES: Final = {"k": 1e3, "M": 1e6}
_NUMBER: Final = r"-?\d[\d_]*(?:\.\d+)?(?:e\d+)?[kM]?"
_RANGE: Final = re.compile(rf"({_NUMBER})\.\.({_NUMBER})([*+])({_NUMBER})")
_SWITCH: Final = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}

Kind = Literal["whole", "number", "switch", "word", "text"]
"""The syntax of a value; a text may contain commas."""
Part = Literal["row", "workload", "profile", "surroundings", "bench"]
"""The owner of a setting. `row`: it chooses rows; `bench`: one value for all rows."""

PROFILE_SETTINGS: Final = frozenset().union(*(family.traits.profile_keys for family in Family))


@dataclass(frozen=True)
class Setting:
    """`default` None: the driver, the firmware or the network decides. `choices`: the only values, if any.

    `low`, `high`: the limits of a number. A workload checks the limits of its settings itself.
    """

    name: str
    kind: Kind
    part: Part
    help: str
    default: Any = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    """Workloads with this setting."""


@dataclass(frozen=True)
class Axis:
    """A setting with its given values, in order."""

    setting: Setting
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def is_numeric(self) -> bool:
        return len(self.values) > 1 and all(as_number(value) is not None for value in self.values)


_COMMON: Final = (
    Setting("runtime", "word", "row", "runtimes of the rows, as --runtime"),
    Setting("profile", "word", "row", "profiles of the rows, as --profile"),
    Setting("spi_hz", "whole", "profile", "SPI clock that the client asks for", low=1, high=133_000_000),
    Setting("intn", "switch", "profile", "whether the client passes the INTn pin"),
    Setting("turnaround_us", "whole", "surroundings", "the simulated PC's time to answer", TURNAROUND_US, 0, 1e6),
    Setting("phy_link_delay_s", "number", "surroundings", "time until the board's link is up", PHY_LINK_DELAY_S, 0, 60),
    Setting("seed", "whole", "surroundings", "seed of the jitter; fixed: no jitter", 1, 0, MOST_SEED),
    Setting("address_mode", "word", "bench", "how the board gets its address", "dhcp", choices=("dhcp", "static")),
    Setting("static_address", "text", "bench", "a real board's IP,MASK,GATEWAY,DNS for address_mode=static"),
    Setting("server_host", "text", "bench", "address of this PC that real boards reach"),
    Setting(
        "server_port",
        "whole",
        "bench",
        f"TCP port of the server, 0 for a free one; not given: {SERVER_PORT} for real boards, a free one for hosted",
        low=0,
        high=65535,
    ),
    Setting("pc_address", "text", "bench", f"address of the simulated PC, mask {MASK}", str(PC_IP)),
)

_ACCESS_POINT_HELP: Final = {
    "ssid": "name of the emulated access point",
    "passphrase": "its passphrase; empty for an open network",
    "hidden": "its beacons do not contain its name",
    "channel": "its channel, 1 to 13",
    "rssi_dbm": "its signal at the board; out of range below -92",
    "beacon_tu": "beacon interval, in units of 1024 us",
    "dtim": "beacons between those that announce frames for all",
    "delay_us": "time that it adds to a frame for the board",
    "join_delay_us": "longest extra time of joining",
    "loss_per_mille": "share of frames that are lost",
}


def _access_point() -> Iterable[Setting]:
    usual = AccessPoint()
    for each in fields(AccessPoint):
        kind: Kind = "text" if each.name in ("ssid", "passphrase") else _kind(each.type)
        yield Setting(WIFI + each.name, kind, "bench", _ACCESS_POINT_HELP[each.name], getattr(usual, each.name))


def _timeouts() -> Iterable[Setting]:
    for stage, seconds in DEFAULT_S.items():
        yield Setting(
            f"timeout_{stage}_s", "number", "bench", f"longest time of the stage {stage}", seconds, 0.001, 86400
        )


def common_settings() -> dict[str, Setting]:
    """The settings that do not belong to a workload, by name."""
    return {each.name: each for each in (*_COMMON, *_access_point(), *_timeouts())}


def workload_settings(chosen: Iterable[Workload]) -> dict[str, Setting]:
    """The settings of these workloads, by name; workloads may share a setting. Raises OptionError."""
    found: dict[str, Setting] = {}
    common = common_settings()
    for each in chosen:
        for name, info in each.settings_type.model_fields.items():
            if name in common and common[name].part != "profile":
                raise OptionError(f"workload {each.name}: {name} is the name of another setting; rename it")
            if name in found:
                found[name] = replace(found[name], workloads=(*found[name].workloads, each.name))
                continue
            kind = _kind(info.annotation)
            if kind == "word" and (info.default is None or "," in str(info.default)):
                kind = "text"  # a path, or a list by itself
            choices = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
            about = info.description or ""
            found[name] = Setting(name, kind, "workload", about, info.default, choices=choices, workloads=(each.name,))
    return found


def known_settings(chosen: Iterable[Workload]) -> dict[str, Setting]:
    """All settings of rows of these workloads, by name. Raises OptionError."""
    chosen = tuple(chosen)
    networked = any(map(_uses_network, chosen))
    common = {name: each for name, each in common_settings().items() if each.part != "profile" or networked}
    return common | workload_settings(chosen)


def read_settings(texts: Iterable[str], chosen: Iterable[Workload]) -> dict[str, Axis]:
    """Read NAME=VALUE settings; a repeated name adds its values. Raises OptionError."""
    chosen = tuple(chosen)
    known = known_settings(chosen)
    given: dict[str, Axis] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        name = name.replace("-", "_")
        if not equals or not name:
            raise OptionError(f"-s {text!r}: is not NAME=VALUE; write messages=100 or spi_hz=2M,8M,20M")
        if name not in known:
            raise OptionError(_unknown(name, known, chosen))
        setting = known[name]
        values = (*(given[name].values if name in given else ()), *_values(setting, written))
        if len(set(values)) < len(values):
            twice = next(value for value in values if values.count(value) > 1)
            raise OptionError(f"{name}: {twice} is given twice; give each value once")
        if len(values) > 1 and setting.part == "bench":
            raise OptionError(f"{name}: has {len(values)} values; give one, which is for all rows")
        if len(values) > 1 and setting.part == "surroundings" and not any(map(_uses_network, chosen)):
            names = ", ".join(each.name for each in chosen)
            raise OptionError(f"{name}: makes no difference to {names}; give one value, or another --workload")
        given[name] = Axis(setting, values)
    points = math.prod(len(axis.values) for axis in given.values())
    if points > MOST_POINTS:
        raise OptionError(f"the settings have {points} combinations, more than {MOST_POINTS}; leave out some values")
    return given


def as_number(value: Any) -> float | None:
    """The value as a number, for charts; None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _uses_network(workload: Workload) -> bool:
    return workload.readiness is not Readiness.BOOTED


def _unknown(name: str, known: Mapping[str, Setting], chosen: Iterable[Workload]) -> str:
    """The error for a setting that no chosen workload has."""
    names = ", ".join(each.name for each in chosen)
    elsewhere = workload_settings(workloads().values()).get(name)
    of = (*(elsewhere.workloads if elsewhere else ()), *(["those that use the network"] * (name in PROFILE_SETTINGS)))
    if of:
        return f"{name}: is a setting of {', '.join(of)}, not of {names}; choose another --workload"
    own = ", ".join(each.name for each in known.values() if each.part == "workload") or "none"
    return f"{unknown('setting', name, known)} settings of {names}: {own}; see: portbench list settings"


def _kind(annotation: Any) -> Kind:
    kinds = {part for part in (*get_args(annotation), annotation)}
    text = str(annotation)
    for kind, named in (("switch", bool), ("whole", int), ("number", float)):
        if named in kinds or re.search(rf"\b({named.__name__}|Strict{named.__name__.title()})\b", text):
            return kind  # type: ignore[return-value]
    return "word"


def _values(setting: Setting, text: str) -> tuple[Any, ...]:
    if setting.kind == "text":
        return (text,)
    values: list[Any] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        values += [_value(setting, each) for each in (_range(setting, *found.groups()) if found else [part])]
    if not values:
        raise OptionError(f"{setting.name}: {text} has no value; write 1..32*2 or 0..100+25")
    return tuple(values)


def _range(setting: Setting, least: str, most: str, by: str, step: str) -> list[str]:
    """`1..8*2` is 1, 2, 4, 8; `0..10+5` is 0, 5, 10."""
    value, last, each = _number(least), _number(most), _number(step)
    grows = value > 0 and each > 1 if by == "*" else each > 0
    if not grows:
        raise OptionError(f"{setting.name}: {least}..{most}{by}{step} does not grow; write 1..32*2 or 0..100+25")
    found: list[str] = []
    while value <= last + abs(last) * 1e-9:
        found.append(f"{value:.10g}")
        value = value * each if by == "*" else value + each
        if len(found) > _MOST_VALUES:
            raise OptionError(f"{setting.name}: {least}..{most}{by}{step} has more than {_MOST_VALUES} values")
    return found


def _value(setting: Setting, text: str) -> Any:
    name = setting.name
    if name == "seed" and text == FIXED:
        return FIXED
    if setting.kind == "switch":
        if text.lower() not in _SWITCH:
            raise OptionError(f"{name}: {text!r} is neither yes nor no")
        return _SWITCH[text.lower()]
    if setting.kind == "word":
        if not text:
            raise OptionError(f"{name}: has an empty value; write its values as {name}=A,B,C")
        if setting.choices and text not in setting.choices:
            raise OptionError(f"{name}: {unknown('value', text, setting.choices)}")
        return text
    if re.fullmatch(_NUMBER, text) is None:
        raise OptionError(f"{name}: {text!r} is not a number; write 200, 8M or 0.5")
    number = _number(text)
    if not math.isfinite(number):
        raise OptionError(f"{name}: {text} is too large")
    whole = setting.kind == "whole"
    if setting.low is not None and setting.high is not None and not setting.low <= number <= setting.high:
        limits = f"{setting.low:g} to {setting.high:,.0f}".replace(",", " ")
        raise OptionError(f"{name}: {text} is not a {'whole ' if whole else ''}number from {limits}")
    if whole and number != int(number):
        raise OptionError(f"{name}: {text} is not a whole number")
    return int(number) if whole else number


def _number(text: str) -> float:
    scale = _SCALES.get(text[-1], 1.0)
    return float(text.rstrip("kM").replace("_", "")) * scale
