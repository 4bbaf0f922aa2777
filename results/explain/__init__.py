"""Why a row takes as long as it does, in sentences that rules make of its attribution and conditions."""

from portbench.results.explain.facts import Comparison, Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.sentences import RULES, compared, explained

__all__ = ["RULES", "Comparison", "Facts", "Sentence", "compared", "explained"]
