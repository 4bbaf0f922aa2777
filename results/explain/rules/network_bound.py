"""There is little left for the board to be faster in."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration, percent

LEAST = 0.5
FIRES = "the PC's work and the wire take at least half of the time"
_CAUSES = ("wire_to_pc", "pc", "wire_to_board")


def say(facts: Facts) -> Sentence | None:
    share = facts.share(*_CAUSES)
    if share < LEAST:
        return None
    pc_ps, wire_ps = facts.each_ps("pc"), facts.each_ps("wire_to_pc", "wire_to_board")
    board_ps = facts.each_ps() - pc_ps - wire_ps
    text = (
        f"{percent(share)} of the time is the PC ({duration(pc_ps)} a {facts.noun}) and the wire ({duration(wire_ps)}):"
        f" the board itself takes {duration(board_ps)}"
    )
    return Sentence("network_bound", text, share, _CAUSES, {"board_us": board_ps / 1e6})
