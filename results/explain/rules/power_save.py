"""Frames wait until the radio wakes for a beacon."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration, part

LEAST = 0.1
FIRES = "the access point keeps frames for a radio that sleeps for at least 10 % of the time"


def say(facts: Facts) -> Sentence | None:
    share = facts.share("power_save")
    if share < LEAST:
        return None
    waited = [ps for ps in facts.attribution.spans.causes_ps.get("power_save", []) if ps]
    longest_ps = max(waited)
    often = f" in {len(waited)} of {facts.spans}" if len(waited) < facts.spans else ""
    text = (
        f"the access point keeps frames until the radio wakes for a beacon, {duration(longest_ps)} at most{often},"
        f" {part(facts.each_ps('power_save'), facts.each_ps())} of a {facts.noun}: power save costs that"
    )
    return Sentence("power_save", text, share, ("power_save",), {"longest_us": longest_ps / 1e6, "waits": len(waited)})
