"""The board sleeps until its network chip says that something has come."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import part

LEAST = 0.2
FIRES = "sleeping until the network chip's interrupt, with no frame unread, takes at least 20 % of the time"


def say(facts: Facts) -> Sentence | None:
    share = facts.share("wait_chip")
    if share < LEAST:
        return None
    slept = part(facts.each_ps("wait_chip"), facts.each_ps())
    text = f"the board sleeps until its network chip has something for it for {slept} of a {facts.noun}"
    return Sentence("asleep_for_chip", text, share, ("wait_chip",))
