"""Finds the rules, one file each in `rules/`, and lets them speak."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from portbench.results.explain import rules
from portbench.results.explain.facts import Comparison, Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.model import Row


@dataclass(frozen=True)
class Rule:
    """`fires`: the threshold in words. A rule speaks of one row, or of two beside each other."""

    name: str
    fires: str
    say: Callable[[Facts], Sentence | None] | None
    say_beside: Callable[[Comparison], Sentence | None] | None


def _found() -> dict[str, Rule]:
    found = {}
    for each in sorted(pkgutil.iter_modules(rules.__path__), key=lambda module: module.name):
        module = importlib.import_module(f"{rules.__name__}.{each.name}")
        found[each.name] = Rule(
            each.name, module.FIRES, getattr(module, "say", None), getattr(module, "say_beside", None)
        )
    return found


RULES: Final = _found()
"""By file name."""


def explained(row: Row) -> list[Sentence]:
    """What the rules say of a row, what explains most first; nothing where its time was not attributed."""
    facts = Facts.of(row)
    if facts is None:
        return []
    return _ordered([rule.say(facts) for rule in RULES.values() if rule.say is not None])


def compared(one: Row, other: Row) -> list[Sentence]:
    """What the rules say of `other` beside `one`; nothing where they did not measure the same."""
    comparison = Comparison.of(one, other)
    if comparison is None:
        return []
    return _ordered([rule.say_beside(comparison) for rule in RULES.values() if rule.say_beside is not None])


def _ordered(said: list[Sentence | None]) -> list[Sentence]:
    sentences = [sentence for sentence in said if sentence is not None]
    return sorted(sentences, key=lambda sentence: (-(sentence.share or 0.0), sentence.rule))
