"""A profile by functions, from samples or from each instruction."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from portbench.boards.emulated.attribution import exception_name
from portbench.firmware.uf2 import FLASH_BASE
from portbench.runner.profile.symbols import REGIONS, Symbols, region


@dataclass
class ProfiledFunction:
    """Totals of one function without its callees, on both cores."""

    name: str
    region: str
    instructions: int = 0
    cycles: int = 0
    stalls: int = 0
    """Those of the cycles in which a core waited for flash after a cache miss."""
    misses: int = 0
    calls: int = 0


@dataclass(frozen=True)
class Stack:
    """Calls on one core, outermost first, and the cycles at the innermost."""

    core: int
    frames: tuple[str, ...]
    cycles: int


@dataclass(frozen=True)
class RunProfile:
    """`exact`: each instruction was seen; else `cycles` come from samples, without calls or stalls.

    `asleep`: cycles of each core in WFI or WFE, exact profiles only.
    """

    exact: bool
    hz: int
    window_us: tuple[float, float]
    functions: tuple[ProfiledFunction, ...]
    """Most cycles first."""
    stacks: tuple[Stack, ...]
    asleep: tuple[int, int]
    evictions: tuple[tuple[str, str, int], ...]
    """(missed function or data, the one that had replaced it in the cache, count), most often first."""
    missed: tuple[tuple[str, int], ...]
    """(Missed function or data, count), most often first."""
    title: str = field(default="", compare=False)

    @property
    def cycles(self) -> int:
        return sum(function.cycles for function in self.functions)

    @property
    def stalls(self) -> int:
        return sum(function.stalls for function in self.functions)

    def by_region(self) -> dict[str, int]:
        """Cycles by the memory that code ran from."""
        found = Counter({name: 0 for name in REGIONS})
        for function in self.functions:
            found[function.region] += function.cycles
        return {name: found[name] for name in REGIONS if found[name]}


def exact_profile(raw: dict[str, Any], symbols: Symbols, window_us: tuple[float, float], title: str) -> RunProfile:
    """The profile from a result of `Replay.profile` without samples."""
    symbols = symbols.with_starts(raw["starts"])
    functions: dict[tuple[str, str], ProfiledFunction] = {}

    def function(address: int) -> ProfiledFunction:
        key = (symbols.name(address), region(address))
        return functions.setdefault(key, ProfiledFunction(*key))

    for address, (instructions, cycles, stalls, misses) in raw["addresses"]:
        each = function(address)
        each.instructions += instructions
        each.cycles += cycles
        each.stalls += stalls
        each.misses += misses
    nodes = raw["nodes"]
    paths: list[tuple[str, ...]] = []
    stacks = []
    asleep = [0, 0]
    for number, (parent, start, core, exception, calls, spent, slept) in enumerate(nodes):
        if number == parent:
            paths.append(())
        else:
            if calls:
                function(start).calls += calls
            name = symbols.name(start)
            if exception:
                name = f"{name} [{exception_name(exception)}]"
            paths.append((*paths[parent], name))
        asleep[core] += slept
        if spent[1]:
            stacks.append(Stack(core, paths[number] or ("?",), spent[1]))
    return RunProfile(
        True,
        raw["hz"],
        window_us,
        _most_first(functions.values()),
        tuple(stacks),
        (asleep[0], asleep[1]),
        *_evictions(raw["evictions"], symbols),
        title,
    )


def sampled_profile(
    raw: dict[str, Any], symbols: Symbols, window_us: tuple[float, float], samples_hz: int, title: str
) -> RunProfile:
    """The profile from samples of `Replay.profile`: flat, since a sample knows no callers."""
    period = max(1, raw["hz"] // samples_hz)
    functions: dict[tuple[str, str], ProfiledFunction] = {}
    stacks: Counter[tuple[int, str]] = Counter()
    for core, address, count in raw["samples"]:
        key = (symbols.name(address), region(address))
        functions.setdefault(key, ProfiledFunction(*key)).cycles += count * period
        stacks[core, key[0]] += count * period
    return RunProfile(
        False,
        raw["hz"],
        window_us,
        _most_first(functions.values()),
        tuple(Stack(core, (name,), cycles) for (core, name), cycles in sorted(stacks.items())),
        (0, 0),
        *_evictions(raw["evictions"], symbols),
        title,
    )


def _most_first(functions: Any) -> tuple[ProfiledFunction, ...]:
    return tuple(sorted(functions, key=lambda each: (-each.cycles, each.name)))


def _evictions(
    raw: Sequence[tuple[int, int | None, int]], symbols: Symbols
) -> tuple[tuple[tuple[str, str, int], ...], tuple[tuple[str, int], ...]]:
    def name(offset: int) -> str:
        return symbols.name(FLASH_BASE + offset)

    pairs: Counter[tuple[str, str]] = Counter()
    missed: Counter[str] = Counter()
    for offset, gone, count in raw:
        missed[name(offset)] += count
        if gone is not None:
            pairs[name(offset), name(gone)] += count
    by_count = sorted(pairs.items(), key=lambda each: (-each[1], each[0]))
    return (
        tuple((one, other, count) for (one, other), count in by_count),
        tuple(sorted(missed.items(), key=lambda each: (-each[1], each[0]))),
    )
