"""The axes of a sweep, and how people write them: `spi_hz=1M..32M*2`, `intn=no,yes`.

They are found: what a profile sets, what is around the board, and the settings of the workload.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

from portbench.errors import OptionError
from portbench.firmware.catalogue import Family, Profile
from portbench.runner.options import FIXED
from portbench.runner.plan import Surroundings
from portbench.workloads import Readiness, Workload

CHOICES: Final = ("runtime", "profile")
MOST_POINTS: Final = 100_000
_MOST_VALUES: Final = 10_000
_SCALES: Final = {"k": 1e3, "M": 1e6}
_NUMBER: Final = r"\d[\d_]*(?:\.\d+)?(?:e\d+)?[kM]?"
_RANGE: Final = re.compile(rf"({_NUMBER})\.\.({_NUMBER})([*+])({_NUMBER})")
_SWITCH: Final = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}

Kind = Literal["whole", "number", "switch", "word"]

SETS: Final[Mapping[Family, frozenset[str]]] = {
    Family.MICROPYTHON: frozenset({"spi_hz", "intn"}),
    Family.WIZNET: frozenset({"spi_hz"}),
    Family.CIRCUITPYTHON: frozenset({"spi_hz"}),
    Family.NATIVE: frozenset({"spi_hz", "intn"}),
}
"""What of a profile the clients of a family heed."""


@dataclass(frozen=True)
class Known:
    """An axis that there is. `of`: whether it chooses rows, or is of the profile, the surroundings or the workload."""

    name: str
    kind: Kind
    of: Literal["choice", "profile", "room", "setting"]


@dataclass(frozen=True)
class Axis:
    """One that was asked for, with its values in the order given."""

    known: Known
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.known.name

    @property
    def is_numeric(self) -> bool:
        return len(self.values) > 1 and all(as_number(value) is not None for value in self.values)


def known_axes(workload: Workload) -> dict[str, Known]:
    """All axes of rows of `workload`, by name."""
    found = [Known(name, "word", "choice") for name in CHOICES]
    if workload.readiness is not Readiness.BOOTED:
        found += [Known(each.name, _kind(each.type), "profile") for each in fields(Profile) if each.name in _heeded()]
        found += [Known(each.name, _kind(each.type), "room") for each in fields(Surroundings)]
    for name, info in workload.settings_type.model_fields.items():
        found.append(Known(name, _kind(info.annotation), "setting"))
    return {each.name: each for each in found}


def read_axes(texts: Iterable[str], workload: Workload) -> list[Axis]:
    """Axes as on a command line. Raises OptionError."""
    known = known_axes(workload)
    axes: dict[str, Axis] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.replace("-", "_")
        if not equals or not values:
            raise OptionError(f"{text!r} is no axis; write one as spi_hz=2M,8M,20M")
        if name not in known:
            raise OptionError(f"{name}: is no axis of {workload.name}; it has {', '.join(known)}")
        if name in axes:
            raise OptionError(f"{name}: is given twice; write all its values as {name}=A,B,C")
        axes[name] = Axis(known[name], _values(known[name], values))
    points = 1
    for axis in axes.values():
        points *= len(axis.values)
    if points > MOST_POINTS:
        raise OptionError(f"the axes have {points} points, more than {MOST_POINTS}; leave out some values")
    return list(axes.values())


def as_number(value: Any) -> float | None:
    """What can be drawn along a scale."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _heeded() -> frozenset[str]:
    return frozenset().union(*SETS.values())


def _kind(annotation: Any) -> Kind:
    kinds = {part for part in (*get_args(annotation), annotation)}
    text = str(annotation)
    for kind, named in (("switch", bool), ("whole", int), ("number", float)):
        if named in kinds or re.search(rf"\b({named.__name__}|Strict{named.__name__.title()})\b", text):
            return kind  # type: ignore[return-value]
    return "word"


def _values(axis: Known, text: str) -> tuple[Any, ...]:
    values: list[Any] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        values += [_value(axis, each) for each in (_range(axis, *found.groups()) if found else [part])]
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise OptionError(f"{axis.name}: {twice} is given twice; name each value once")
    return tuple(values)


def _range(axis: Known, least: str, most: str, by: str, step: str) -> list[str]:
    """`1..8*2` is 1, 2, 4, 8; `0..10+5` is 0, 5, 10."""
    value, last, each = _number(least), _number(most), _number(step)
    grows = value > 0 and each > 1 if by == "*" else each > 0
    if not grows:
        raise OptionError(f"{axis.name}: {least}..{most}{by}{step} does not grow; write 1..32*2 or 0..100+25")
    found: list[str] = []
    while value <= last * (1 + 1e-9):
        found.append(f"{value:.10g}")
        value = value * each if by == "*" else value + each
        if len(found) > _MOST_VALUES:
            raise OptionError(f"{axis.name}: {least}..{most}{by}{step} has more than {_MOST_VALUES} values")
    return found


def _value(axis: Known, text: str) -> Any:
    if axis.name == "seed" and text == FIXED:
        return FIXED
    if axis.kind == "switch":
        if text.lower() not in _SWITCH:
            raise OptionError(f"{axis.name}: {text!r} is neither yes nor no")
        return _SWITCH[text.lower()]
    if axis.kind == "word":
        if not text:
            raise OptionError(f"{axis.name}: has an empty value; write its values as {axis.name}=A,B,C")
        return text
    if re.fullmatch(_NUMBER, text) is None:
        raise OptionError(f"{axis.name}: {text!r} is no number; write 200, 8M or 0.5")
    number = _number(text)
    if axis.kind == "whole":
        if number != int(number):
            raise OptionError(f"{axis.name}: {text} is no whole number")
        return int(number)
    return number


def _number(text: str) -> float:
    scale = _SCALES.get(text[-1], 1.0)
    return float(text.rstrip("kM").replace("_", "")) * scale
