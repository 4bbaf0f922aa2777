"""The answer is there before the board asks for it, so the PC's speed does not matter."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration

LEAST = 0.9
FIRES = (
    "messages that the board sends and the PC answers; at least 90 % of the time between the two, the board has other"
    " things to do"
)
_BEGUN_BY_BOARD = "message"
_CAUSES = ("wire_to_pc", "pc", "wire_to_board")


def say(facts: Facts) -> Sentence | None:
    hidden_ps, waited_ps = facts.each("hidden_ps"), facts.each_ps(*_CAUSES)
    # Of a request the PC is the one who asks, and a run is no message.
    if facts.noun != _BEGUN_BY_BOARD:
        return None
    if not hidden_ps or hidden_ps < LEAST * (hidden_ps + waited_ps):
        return None
    text = (
        f"the answer is there {duration(hidden_ps)} after the {facts.noun} was sent, before the board looks for it:"
        " a faster PC or network would change nothing"
    )
    return Sentence("network_hidden", text, None, _CAUSES, {"hidden_us": hidden_ps / 1e6})
