"""The board executes, and waits for nothing."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import count, percent

LEAST = 0.4
FIRES = "executing the interpreter and C code takes at least 40 % of the time"


def say(facts: Facts) -> Sentence | None:
    share = facts.share("code_run")
    instructions = facts.each("instructions")
    if share < LEAST or not instructions:
        return None
    text = (
        f"{percent(share)} of the time the interpreter and C code execute, and wait for nothing:"
        f" {count(instructions)} instructions a {facts.noun}"
    )
    return Sentence("executing", text, share, ("code_run",), {"instructions": instructions})
