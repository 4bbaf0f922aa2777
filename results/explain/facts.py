"""Rules about a row's time: their input (figures of a row, without its names), their sentences, and their list."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import get_annotations
from typing import Final, TypeVar

from portbench.results.attribution import Attribution, Function, Span
from portbench.results.model import Conditions, Row


@dataclass(frozen=True)
class Facts:
    """A row's attribution for rules; `whole` is the sum of all spans."""

    attribution: Attribution
    conditions: Conditions
    whole: Span
    spans: int
    noun: str
    """The noun for one span: `message`; `run` if the spans have different names."""
    lacks_intn: bool
    """INTn is not connected, and the driver would take it: MicroPython's does, WIZnet's own has no argument for it."""
    figures: Mapping[str, float]
    """The row's own."""

    @classmethod
    def of(cls, row: Row) -> Facts | None:
        """None if the row's time was not attributed, or nothing in it was timed."""
        attribution = row.attribution
        if attribution is None or not len(attribution.spans):
            return None
        names = set(attribution.spans.names)
        noun = attribution.spans.names[0] if len(names) == 1 else "run"
        spans = len(attribution.spans) if len(names) == 1 else 1
        lacks_intn = row.conditions.intn is False and row.family == "micropython"
        return cls(attribution, row.conditions, attribution.spans.total(), spans, noun, lacks_intn, row.figures)

    def share(self, *causes: str) -> float:
        """Part of the time, 0 to 1."""
        return self.whole.share(*causes)

    def gain(self, hz: float, best_hz: float, *causes: str) -> float:
        """The most by which spans get faster if `causes` took the time of a clock of `best_hz` instead of `hz`."""
        return 1 / (1 - self.share(*causes) * max(0.0, 1 - hz / best_hz))

    def each_ps(self, *causes: str) -> float:
        """Picoseconds of an average span; without causes, all of it."""
        ps = sum(map(self.whole.ps, causes)) if causes else self.whole.duration_ps
        return ps / self.spans

    def each(self, count: str) -> float:
        """A count of an average span."""
        return self.whole.counts.get(count, 0) / self.spans

    @property
    def radio_frames(self) -> float:
        """Frames on a radio chip's gSPI, of an average span; none on any other bus."""
        registers = self.whole.registers
        return sum(registers.get(f"WLAN frame {way}", 0) for way in ("read", "write")) / self.spans

    @property
    def flash_share(self) -> float | None:
        """Part of the instructions, 0 to 1, that came from flash; None if none were counted."""
        instructions = self.whole.counts.get("instructions", 0)
        return self.whole.counts.get("flash_instructions", 0) / instructions if instructions else None

    @property
    def code_misses(self) -> list[tuple[Function, float]]:
        """Functions in flash by their part, 0 to 1, of all flash cache misses, most first."""
        total = sum(self.attribution.flash_pages.misses.values())
        found = [each for each in self.attribution.functions if each.misses and each.region == "flash"]
        found.sort(key=lambda each: (-each.misses, each.name))
        return [(each, each.misses / total) for each in found] if total else []

    @property
    def period_ps(self) -> float | None:
        """Median time from the start of a span to the start of the next; None with fewer than three spans."""
        starts = self.attribution.spans.start_ps
        if self.spans < 3:
            return None
        return statistics.median(after - before for before, after in itertools.pairwise(starts))


@dataclass(frozen=True)
class TwoRows:
    """Two rows of one workload with the same settings: `one`, and `other` that stands beside it."""

    one: Facts
    other: Facts
    ratios: dict[str, float]
    """By span name: how much longer `other` takes, by the shortest of each."""
    flash_shares: dict[str, tuple[float, float]]
    """By span name: part of the instructions, 0 to 1, that come from flash, of `one` and of `other`."""

    @classmethod
    def of(cls, one: Row, other: Row) -> TwoRows | None:
        """None if workload or settings differ, or if the time was not attributed."""
        facts = Facts.of(one), Facts.of(other)
        if facts[0] is None or facts[1] is None or (one.workload, one.settings) != (other.workload, other.settings):
            return None
        times = [_shortest(each.attribution) for each in facts if each is not None]
        common = [name for name in times[0] if times[0][name] and times[1].get(name)]
        ratios = {name: times[1][name] / times[0][name] for name in common}
        shares = [_flash_shares(each.attribution) for each in facts if each is not None]
        both = {name: (shares[0][name], shares[1][name]) for name in common if name in shares[0] and name in shares[1]}
        return cls(facts[0], facts[1], ratios, both)


def _flash_shares(attribution: Attribution) -> dict[str, float]:
    counted: dict[str, list[int]] = {}
    counts = attribution.spans.counts
    columns = (attribution.spans.names, counts.get("flash_instructions", []), counts.get("instructions", []))
    for name, flash, instructions in zip(*columns, strict=False):
        sums = counted.setdefault(name, [0, 0])
        sums[0] += flash
        sums[1] += instructions
    return {name: flash / instructions for name, (flash, instructions) in counted.items() if instructions}


def _shortest(attribution: Attribution) -> dict[str, int]:
    shortest: dict[str, int] = {}
    for name, ps in zip(attribution.spans.names, attribution.spans.duration_ps, strict=True):
        shortest[name] = min(ps, shortest.get(name, ps))
    return shortest


@dataclass(frozen=True)
class Sentence:
    rule: str = field(default="", kw_only=True)
    text: str
    share: float | None = None
    """The part of the spans' time that the sentence explains, 0 to 1; None if it is not about a part."""
    causes: tuple[str, ...] = ()
    """The names of `results.attribution.CAUSES` that it is about."""
    figures: dict[str, float] = field(default_factory=dict)
    """The numbers in it, for programs."""


About = TypeVar("About", Facts, TwoRows)
Say = Callable[[About], Sentence | None]
SayOfShare = Callable[[Facts, float], Sentence | None]


@dataclass(frozen=True)
class Rule:
    """`fires`: the threshold in words."""

    fires: str
    say: Callable[..., Sentence | None]
    of_two: bool


RULES: Final[dict[str, Rule]] = {}
"""By the name of the function."""


def rule(fires: str) -> Callable[[Say[About]], Say[About]]:
    """Register a function as a rule about one row (`Facts`) or about two rows (`TwoRows`)."""

    def registered(say: Say[About]) -> Say[About]:
        of_two = TwoRows in get_annotations(say).values()
        RULES[say.__name__] = Rule(fires, say, of_two)
        return say

    return registered


def rule_of_share(fires: str, least: float, *causes: str) -> Callable[[SayOfShare], SayOfShare]:
    """Register a function as a rule about the share of a row's time that `causes` take, of at least `least`, 0 to 1."""

    def registered(say: SayOfShare) -> SayOfShare:
        def sentence(facts: Facts) -> Sentence | None:
            share = facts.share(*causes)
            said = say(facts, share) if share >= least else None
            return None if said is None else replace(said, share=share, causes=causes)

        RULES[say.__name__] = Rule(fires, sentence, of_two=False)
        return say

    return registered
