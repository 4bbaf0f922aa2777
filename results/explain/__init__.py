"""The reasons for a row's time, in sentences that rules make of its attribution and conditions."""

from dataclasses import replace

from portbench.results.explain.facts import RULES, Facts, Sentence, TwoRows
from portbench.results.explain.rules import cores, flash, floats, network, spi, tls  # noqa: F401  (they register)
from portbench.results.model import Row

__all__ = ["RULES", "Facts", "Sentence", "compared", "explained"]


def explained(row: Row) -> list[Sentence]:
    """Sentences about a row, the largest share first; none if the row's time was not attributed."""
    return _ordered(Facts.of(row), of_two=False)


def compared(one: Row, other: Row) -> list[Sentence]:
    """Sentences about `other` beside `one`; none if their workload or settings differ."""
    return _ordered(TwoRows.of(one, other), of_two=True)


def _ordered(about: Facts | TwoRows | None, *, of_two: bool) -> list[Sentence]:
    if about is None:
        return []
    said = ((name, rule.say(about)) for name, rule in RULES.items() if rule.of_two is of_two)
    sentences = [replace(sentence, rule=name) for name, sentence in said if sentence is not None]
    return sorted(sentences, key=lambda sentence: (-(sentence.share or 0.0), sentence.rule))
