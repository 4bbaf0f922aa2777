"""The network, the radio and the PC."""

from __future__ import annotations

from portbench.results.explain.facts import Facts, Sentence, rule
from portbench.results.explain.words import duration, part, percent

_DELAYED_ACK_LEAST = 0.2


@rule("the PC's delayed acknowledgements take at least 20 % of the time")
def delayed_ack(facts: Facts) -> Sentence | None:
    """Board and PC wait for each other's acknowledgement."""
    share = facts.share("delayed_ack")
    if share < _DELAYED_ACK_LEAST:
        return None
    waited = [ps for ps in facts.attribution.spans.causes_ps.get("delayed_ack", []) if ps]
    longest_ps, waits_ps = max(waited), facts.each_ps("delayed_ack")
    text = (
        f"the board sends on only when the PC has acknowledged, and the PC delays that: {duration(longest_ps)} at most,"
        f" {part(waits_ps, facts.each_ps())} of a {facts.noun}"
    )
    return Sentence(text, share, ("delayed_ack",), {"longest_us": longest_ps / 1e6})


_NETWORK_BOUND_LEAST = 0.5
_NETWORK_BOUND_CAUSES = ("wire_to_pc", "pc", "wire_to_board")


@rule("the PC's work and the wire take at least half of the time")
def network_bound(facts: Facts) -> Sentence | None:
    """There is little left for the board to be faster in."""
    share = facts.share(*_NETWORK_BOUND_CAUSES)
    if share < _NETWORK_BOUND_LEAST:
        return None
    pc_ps, wire_ps = facts.each_ps("pc"), facts.each_ps("wire_to_pc", "wire_to_board")
    board_ps = facts.each_ps() - pc_ps - wire_ps
    text = (
        f"{percent(share)} of the time is the PC ({duration(pc_ps)} a {facts.noun}) and the wire ({duration(wire_ps)}):"
        f" the board itself takes {duration(board_ps)}"
    )
    return Sentence(text, share, _NETWORK_BOUND_CAUSES, {"board_us": board_ps / 1e6})


_NETWORK_HIDDEN_LEAST = 0.9
_BEGUN_BY_BOARD = "message"
_NETWORK_HIDDEN_CAUSES = ("wire_to_pc", "pc", "wire_to_board")


@rule(
    "messages that the board sends and the PC answers; at least 90 % of the time between the two, the board has other"
    " things to do"
)
def network_hidden(facts: Facts) -> Sentence | None:
    """The answer is there before the board asks for it, so the PC's speed does not matter."""
    hidden_ps, waited_ps = facts.each("hidden_ps"), facts.each_ps(*_NETWORK_HIDDEN_CAUSES)
    # Of a request the PC is the one who asks, and a run is no message.
    if facts.noun != _BEGUN_BY_BOARD:
        return None
    if not hidden_ps or hidden_ps < _NETWORK_HIDDEN_LEAST * (hidden_ps + waited_ps):
        return None
    text = (
        f"the answer is there {duration(hidden_ps)} after the {facts.noun} was sent, before the board looks for it:"
        " a faster PC or network would change nothing"
    )
    return Sentence(text, None, _NETWORK_HIDDEN_CAUSES, {"hidden_us": hidden_ps / 1e6})


_POWER_SAVE_LEAST = 0.1


@rule("the access point keeps frames for a radio that sleeps for at least 10 % of the time")
def power_save(facts: Facts) -> Sentence | None:
    """Frames wait until the radio wakes for a beacon."""
    share = facts.share("power_save")
    if share < _POWER_SAVE_LEAST:
        return None
    waited = [ps for ps in facts.attribution.spans.causes_ps.get("power_save", []) if ps]
    longest_ps = max(waited)
    often = f" in {len(waited)} of {facts.spans}" if len(waited) < facts.spans else ""
    text = (
        f"the access point keeps frames until the radio wakes for a beacon, {duration(longest_ps)} at most{often},"
        f" {part(facts.each_ps('power_save'), facts.each_ps())} of a {facts.noun}: power save costs that"
    )
    return Sentence(text, share, ("power_save",), {"longest_us": longest_ps / 1e6, "waits": len(waited)})


_WIFI_BOUND_LEAST = 0.4
_WIFI_BOUND_CAUSES = ("air", "access_point", "radio")


@rule("the air, the access point and the radio chip take at least 40 % of the time")
def wifi_bound(facts: Facts) -> Sentence | None:
    """Most of the time is the way by radio."""
    share = facts.share(*_WIFI_BOUND_CAUSES)
    if share < _WIFI_BOUND_LEAST:
        return None
    air, point, radio = (duration(facts.each_ps(cause)) for cause in _WIFI_BOUND_CAUSES)
    own_ps = facts.each_ps() - facts.each_ps(
        *_WIFI_BOUND_CAUSES, "power_save", "wire_to_pc", "pc", "delayed_ack", "wire_to_board"
    )
    text = (
        f"{percent(share)} of the time is Wi-Fi: the access point ({point} a {facts.noun}), the air ({air}) and the"
        f" radio chip ({radio}); the board itself takes {duration(own_ps)}"
    )
    return Sentence(text, share, _WIFI_BOUND_CAUSES, {"board_us": own_ps / 1e6})
