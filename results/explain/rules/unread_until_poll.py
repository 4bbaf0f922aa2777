"""An answer lies in the chip until a timer makes the driver look."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration, part

LEAST = 0.2
FIRES = "frames lie unread until a timer polls the chip for at least 20 % of the time"
_ONE_A_POLL = 0.9


def say(facts: Facts) -> Sentence | None:
    share = facts.share("wait_poll")
    if share < LEAST:
        return None
    waits_ps, each_ps = facts.each_ps("wait_poll"), facts.each_ps()
    text = f"a frame lies unread in the chip for {part(waits_ps, each_ps)} of a {facts.noun}, until a timer's poll"
    period_ps = facts.period_ps
    # One span a poll, or the distance of the spans says nothing about the poll's.
    if period_ps is not None and _ONE_A_POLL * period_ps <= waits_ps <= period_ps:
        # To two digits: spans begin at no fixed time after a poll.
        text += f" about every {duration(float(f'{period_ps:.2g}'))}"
    if facts.lacks_intn:
        text += ": INTn is not connected"
    return Sentence("unread_until_poll", text, share, ("wait_poll",), {"wait_us": waits_ps / 1e6})
