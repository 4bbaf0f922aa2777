"""The reasons for a row's time, in sentences that rules make of its attribution and conditions."""

from portbench.results.explain.facts import RULES, Comparison, Facts, Sentence
from portbench.results.explain.sentences import compared, explained

__all__ = ["RULES", "Comparison", "Facts", "Sentence", "compared", "explained"]
