"""A rule, the sentence that it makes, and the list of all rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from portbench.results.explain.facts import Comparison, Facts


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


About = TypeVar("About", Facts, Comparison)
Say = Callable[[About], Sentence | None]


@dataclass(frozen=True)
class Rule:
    """`fires`: the threshold in words."""

    fires: str
    say: Callable[..., Sentence | None]
    of_two: bool


RULES: Final[dict[str, Rule]] = {}
"""By the name of the function."""


def rule(fires: str) -> Callable[[Say[About]], Say[About]]:
    """Register a function as a rule about one row (`Facts`) or about two rows (`Comparison`)."""

    def registered(say: Say[About]) -> Say[About]:
        of_two = Comparison.__name__ in say.__annotations__.values()
        RULES[say.__name__] = Rule(fires, say, of_two)
        return say

    return registered
