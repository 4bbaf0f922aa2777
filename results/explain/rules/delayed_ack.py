"""Board and PC wait for each other's acknowledgement."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration, part

LEAST = 0.2
FIRES = "the PC's delayed acknowledgements take at least 20 % of the time"


def say(facts: Facts) -> Sentence | None:
    share = facts.share("delayed_ack")
    if share < LEAST:
        return None
    waited = [ps for ps in facts.attribution.spans.causes_ps.get("delayed_ack", []) if ps]
    longest_ps, waits_ps = max(waited), facts.each_ps("delayed_ack")
    text = (
        f"the board sends on only when the PC has acknowledged, and the PC delays that: {duration(longest_ps)} at most,"
        f" {part(waits_ps, facts.each_ps())} of a {facts.noun}"
    )
    return Sentence("delayed_ack", text, share, ("delayed_ack",), {"longest_us": longest_ps / 1e6})
