"""The network, the radio and the PC."""

from portbench.results.explain.facts import Facts, Sentence, rule, rule_of_share
from portbench.results.explain.words import duration, part, percent

_PC_AND_WIRE = ("wire_to_pc", "pc", "wire_to_board")


@rule_of_share("the PC's delayed acknowledgements take at least 20 % of the time", 0.2, "delayed_ack")
def delayed_ack(facts: Facts, share: float) -> Sentence | None:
    """Board and PC wait for each other's acknowledgement."""
    waited = [ps for ps in facts.attribution.spans.causes_ps.get("delayed_ack", []) if ps]
    longest_ps, waits_ps = max(waited), facts.each_ps("delayed_ack")
    text = (
        f"the board sends on only when the PC has acknowledged, and the PC delays that: {duration(longest_ps)} at most,"
        f" {part(waits_ps, facts.each_ps())} of a {facts.noun}"
    )
    return Sentence(text, figures={"longest_us": longest_ps / 1e6})


@rule_of_share("the PC's work and the wire take at least half of the time", 0.5, *_PC_AND_WIRE)
def network_bound(facts: Facts, share: float) -> Sentence | None:
    """There is little left for the board to be faster in."""
    pc_ps, wire_ps = facts.each_ps("pc"), facts.each_ps("wire_to_pc", "wire_to_board")
    board_ps = facts.each_ps() - pc_ps - wire_ps
    text = (
        f"{percent(share)} of the time is the PC ({duration(pc_ps)} a {facts.noun}) and the wire ({duration(wire_ps)}):"
        f" the board itself takes {duration(board_ps)}"
    )
    return Sentence(text, figures={"board_us": board_ps / 1e6})


_NETWORK_HIDDEN_LEAST = 0.9
_BEGUN_BY_BOARD = "message"


@rule(
    "messages that the board sends and the PC answers; at least 90 % of the time between the two, the board has other"
    " things to do"
)
def network_hidden(facts: Facts) -> Sentence | None:
    """The answer is there before the board asks for it, so the PC's speed does not matter."""
    hidden_ps, waited_ps = facts.each("hidden_ps"), facts.each_ps(*_PC_AND_WIRE)
    # Of a request the PC is the one who asks, and a run is not a message.
    if facts.noun != _BEGUN_BY_BOARD:
        return None
    if not hidden_ps or hidden_ps < _NETWORK_HIDDEN_LEAST * (hidden_ps + waited_ps):
        return None
    text = (
        f"the answer is there {duration(hidden_ps)} after the {facts.noun} was sent, before the board looks for it:"
        " a faster PC or network would change nothing"
    )
    return Sentence(text, None, _PC_AND_WIRE, {"hidden_us": hidden_ps / 1e6})


@rule_of_share("the access point keeps frames for a radio that sleeps for at least 10 % of the time", 0.1, "power_save")
def power_save(facts: Facts, share: float) -> Sentence | None:
    """Frames wait until the radio wakes for a beacon."""
    waited = [ps for ps in facts.attribution.spans.causes_ps.get("power_save", []) if ps]
    longest_ps = max(waited)
    often = f" in {len(waited)} of {facts.spans}" if len(waited) < facts.spans else ""
    text = (
        f"the access point keeps frames until the radio wakes for a beacon, {duration(longest_ps)} at most{often},"
        f" {part(facts.each_ps('power_save'), facts.each_ps())} of a {facts.noun}: power save costs that"
    )
    return Sentence(text, figures={"longest_us": longest_ps / 1e6, "waits": len(waited)})


_WIFI = ("air", "access_point", "radio")


@rule_of_share("the air, the access point and the radio chip take at least 40 % of the time", 0.4, *_WIFI)
def wifi_bound(facts: Facts, share: float) -> Sentence | None:
    """Most of the time is the way by radio."""
    air, point, radio = (duration(facts.each_ps(cause)) for cause in _WIFI)
    own_ps = facts.each_ps() - facts.each_ps(*_WIFI, *_PC_AND_WIRE, "power_save", "delayed_ack")
    text = (
        f"{percent(share)} of the time is Wi-Fi: the access point ({point} a {facts.noun}), the air ({air}) and the"
        f" radio chip ({radio}); the board itself takes {duration(own_ps)}"
    )
    return Sentence(text, figures={"board_us": own_ps / 1e6})
