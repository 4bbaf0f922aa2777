"""Why two rows differ: where the time of each went, and where in flash their cache misses are, side by side."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from portbench.results.attribution import CAUSES, GROUPS, Cause
from portbench.results.compare import Comparison
from portbench.results.explain import Facts, compared
from portbench.results.explain.words import count

WHY_COLUMNS: Final = ("cause", "A us", "B us", "B - A us")
MISS_COLUMNS: Final = ("flash cache misses in", "A", "B", "B - A")
_MOST: Final = 3
_MOST_PLACES: Final = 10
_COUNTS: Final = {
    "instructions": "instructions",
    "spi_frames": "SPI frames",
    "spi_bytes": "SPI bytes",
    "cache_misses": "flash cache misses",
    "sleeps": "sleeps",
}
_NETWORK: Final = ("wire_to_pc", "pc", "wire_to_board", "delayed_ack")
_LEAST: Final = 0.0005
"""Causes with a smaller share of an interval in both rows are left out."""


@dataclass(frozen=True)
class CauseChange:
    """The time that one cause took in an average interval of each row, in microseconds."""

    title: str
    before_us: float
    after_us: float

    @property
    def more_us(self) -> float:
        return self.after_us - self.before_us


@dataclass(frozen=True)
class Misses:
    """Flash cache misses of one function, or of one page of flash, in an average interval of each row."""

    place: str
    before: float
    after: float


@dataclass(frozen=True)
class Why:
    """The reasons for a difference: `causes` in the run file's order, and `sentences`, the largest change first."""

    row: str
    noun: str
    whole: CauseChange
    causes: list[CauseChange]
    sentences: list[str]
    misses: list[Misses]
    hidden: CauseChange

    @property
    def miss_lines(self) -> list[tuple[str, ...]]:
        """A line for each place whose misses changed most."""
        return [
            (each.place, f"{each.before:.1f}", f"{each.after:.1f}", f"{each.after - each.before:+.1f}")
            for each in self.misses
        ]

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The table: a line for each cause, then all of them, and hidden time that changed."""
        return [
            (each.title, f"{each.before_us:.2f}", f"{each.after_us:.2f}", f"{each.more_us:+.2f}")
            for each in (*self.causes, self.whole, *([self.hidden] if self.hidden.more_us else []))
        ]

    def as_data(self) -> dict[str, Any]:
        causes = [{"cause": each.title, "us": [each.before_us, each.after_us]} for each in self.causes]
        misses = [{"place": each.place, "misses": [each.before, each.after]} for each in self.misses]
        return {"of": self.noun, "sentences": self.sentences, "causes": causes, "misses": misses}


def why(each: Comparison) -> Why | None:
    """The reasons for a difference; None where the time of either was not attributed."""
    one, other = each.before.attributed, each.after.attributed
    if one is None or other is None:
        return None
    ours, theirs = Facts.of(one), Facts.of(other)
    if ours is None or theirs is None:
        return None
    causes = []
    least_us = _LEAST * ours.each_ps() / 1e6
    for name, cause in CAUSES.items():
        found = CauseChange(_title(cause), ours.each_ps(name) / 1e6, theirs.each_ps(name) / 1e6)
        if max(found.before_us, found.after_us, abs(found.more_us)) >= least_us:
            causes.append(found)
    whole = CauseChange("all", ours.each_ps() / 1e6, theirs.each_ps() / 1e6)
    hides = "beside it, network and PC that the board's work hides"
    hidden = CauseChange(hides, ours.each("hidden_ps") / 1e6, theirs.each("hidden_ps") / 1e6)
    waited_us = (theirs.each_ps(*_NETWORK) - ours.each_ps(*_NETWORK)) / 1e6
    changes = _changes(waited_us, hidden.more_us, causes)
    said = [sentence.text for sentence in compared(one, other)]
    return Why(
        f"{other.name} {other.workload}",
        ours.noun,
        whole,
        causes,
        [*_said(ours, theirs, whole, changes), *said],
        _misses(ours, theirs),
        hidden,
    )


def _misses(ours: Facts, theirs: Facts) -> list[Misses]:
    """The places whose misses changed most: functions where both builds' names are known, else pages of flash."""
    both = [_by_function(facts) for facts in (ours, theirs)]
    if not all(both):
        both = [
            {f"page {page}": count for page, count in facts.attribution.flash_pages.misses.items()}
            for facts in (ours, theirs)
        ]
    one, other = both
    found = [
        Misses(place, one.get(place, 0) / ours.spans, other.get(place, 0) / theirs.spans)
        for place in dict.fromkeys([*one, *other])
    ]
    found.sort(key=lambda each: -abs(each.after - each.before))
    return [each for each in found[:_MOST_PLACES] if each.before != each.after]


def _by_function(facts: Facts) -> dict[str, int]:
    """By name, and the misses of all else; empty without a file of names."""
    found: Counter[str] = Counter()
    for each in facts.attribution.functions:
        if each.known_by != "image":
            found[each.name] += each.misses
    return found | {"all else": sum(facts.attribution.flash_pages.misses.values()) - found.total()} if found else {}


def reasons(comparisons: Sequence[Comparison]) -> list[Why]:
    """The reasons for all rows that differ."""
    return [found for each in comparisons if each.differs and (found := why(each)) is not None]


def lacks_reasons(comparisons: Sequence[Comparison]) -> bool:
    """True if a row of an emulated board differs and was not attributed."""
    differing = [each for each in comparisons if each.differs and each.before.first.sim and each.after.first.sim]
    return any(why(each) is None for each in differing)


def _unit(us: float) -> tuple[str, float]:
    """A unit for times of that length, to be shown with two decimals, and its microseconds."""
    return ("us", 1.0) if us < 10_000 else ("ms", 1e3) if us < 10_000_000 else ("s", 1e6)


def _changes(waited_us: float, hidden_us: float, causes: Sequence[CauseChange]) -> list[tuple[float, str]]:
    """Changes in microseconds, and their causes. Network time that is waited for in one row, and hidden by the board's
    work in the other, is no cause: it takes as long in both."""
    if waited_us * hidden_us >= 0:
        return [(each.more_us, each.title) for each in causes]
    uncovered_us = math.copysign(min(abs(waited_us), abs(hidden_us)), waited_us)
    left = {_title(CAUSES[name]): 1 - uncovered_us / waited_us for name in _NETWORK}
    told = "that the board's work hid before" if uncovered_us > 0 else "that the board's work hides now"
    changes = [(each.more_us * left.get(each.title, 1.0), each.title) for each in causes]
    return [*changes, (uncovered_us, f"of network and PC {told}")]


def _title(cause: Cause) -> str:
    group = GROUPS[cause.group].title
    return group if cause.title == group else f"{group}: {cause.title}"


def _said(ours: Facts, theirs: Facts, whole: CauseChange, changes: Sequence[tuple[float, str]]) -> list[str]:
    moved = sorted((each for each in changes if each[0]), key=lambda each: -abs(each[0]))[:_MOST]
    if not moved:
        return []
    unit, size = _unit(max(whole.before_us, whole.after_us))
    parts = ", ".join(f"{more_us / size:+.2f} {unit} {title}" for more_us, title in moved)
    took = f"{whole.after_us / size:.2f} {unit} in place of {whole.before_us / size:.2f}"
    found = [f"a {ours.noun} takes {took}: {parts}"]
    counted = [
        f"{count(ours.each(name))} -> {count(theirs.each(name))} {title}"
        for name, title in _COUNTS.items()
        if count(ours.each(name)) != count(theirs.each(name))
    ]
    return [*found, f"a {ours.noun} has {', '.join(counted)}"] if counted else found
