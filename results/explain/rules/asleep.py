"""The board sleeps until a timer, and nothing has come that it could read."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import part

LEAST = 0.2
FIRES = "sleeping until a timer, with no frame unread, takes at least 20 % of the time"


def say(facts: Facts) -> Sentence | None:
    share = facts.share("wait_timer")
    if share < LEAST:
        return None
    text = f"the board sleeps until a timer for {part(facts.each_ps('wait_timer'), facts.each_ps())} of a {facts.noun}"
    return Sentence("asleep", text, share, ("wait_timer",))
