"""Most of the time is the way by radio."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration, percent

LEAST = 0.4
FIRES = "the air, the access point and the radio chip take at least 40 % of the time"
_CAUSES = ("air", "access_point", "radio")


def say(facts: Facts) -> Sentence | None:
    share = facts.share(*_CAUSES)
    if share < LEAST:
        return None
    air, point, radio = (duration(facts.each_ps(cause)) for cause in _CAUSES)
    own_ps = facts.each_ps() - facts.each_ps(*_CAUSES, "power_save", "wire_to_pc", "pc", "delayed_ack", "wire_to_board")
    text = (
        f"{percent(share)} of the time is Wi-Fi: the access point ({point} a {facts.noun}), the air ({air}) and the"
        f" radio chip ({radio}); the board itself takes {duration(own_ps)}"
    )
    return Sentence("wifi_bound", text, share, _CAUSES, {"board_us": own_ps / 1e6})
