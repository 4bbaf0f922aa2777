"""USB takes time from the workload."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import percent

LEAST = 0.05
FIRES = "the USB interrupt and sleeps that USB ends take at least 5 % of the time"
_CAUSES = ("usb", "wait_usb")


def say(facts: Facts) -> Sentence | None:
    share = facts.share(*_CAUSES)
    if share < LEAST:
        return None
    return Sentence("usb", f"{percent(share)} of the time goes to USB", share, _CAUSES)
