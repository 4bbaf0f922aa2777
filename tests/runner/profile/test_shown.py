"""Random profiles without the engine: their text, and the files for other tools."""

from io import StringIO

from rich.console import Console

from portbench.runner.profile.export import folded, speedscope
from portbench.runner.profile.model import RunProfile, exact_profile, sampled_profile
from portbench.runner.profile.symbols import Symbol, Symbols
from portbench.runner.profile.view import show, show_comparison
from tests.walk import Walk, shortened

PLACES = (0x100, 0x10000200, 0x10000330, 0x10002000, 0x20000100, 0x20001234, 0x40000000)
NAMES = ("main", "recv", "a_function_of_a_name_that_is_too_long_for_any_table_of_a_terminal", "a;b\nc")


def drawn(walk: Walk, title: str) -> RunProfile:
    pick = walk.pick
    symbols = Symbols([Symbol(at, pick((0, 64)), pick(NAMES)) for at in PLACES[:6] if pick((True, True, False))])
    evictions = [(pick((0x200, 0x340, 0x2000)), pick((None, 0x200, 0x9000)), pick((1, 5, 20))) for _ in range(5)]
    raw = {"hz": pick((125_000_000, 1_000_000)), "evictions": pick((evictions, [])), "starts": [0x10000340, 0x10002010]}
    window_us = (1000.0, pick((2000.5, 1_500_000.0)))
    if pick((True, False, False)):
        samples = [(pick((0, 1)), pick(PLACES), pick((1, 40, 900))) for _ in range(9)]
        return sampled_profile({**raw, "samples": samples}, symbols, window_us, pick((1000, 9_000_000)), title)
    spent = [(pick((1, 9)), pick((0, 5, 700, 90_000)), pick((0, 4)), pick((0, 2))) for _ in range(9)]
    addresses = [(pick(PLACES) + 2 * number, each) for number, each in enumerate(spent)]
    nodes = [(number, 0, number, 0, 0, (0, pick((0, 7)), 0, 0), pick((0, 300))) for number in (0, 1)]
    for number, each in enumerate(spent, 2):
        parent = pick(range(number))
        nodes.append((parent, pick(PLACES), nodes[parent][2], pick((0, 0, 15, 27)), pick((0, 3)), each, pick((0, 11))))
    return exact_profile({**raw, "addresses": addresses, "nodes": nodes}, symbols, window_us, title)


def test_random_profiles_are_shown_as_recorded() -> None:
    walk = Walk(8)
    for _ in range(60):
        profiles = [drawn(walk, title) for title in ("one tuned", "two as-published")]
        output = StringIO()
        console, most = Console(file=output, width=120), walk.pick((2, 9))
        show(profiles[0], most, console)
        show_comparison(profiles[0], profiles[1], most, console)
        walk.note(
            output.getvalue(), shortened(list(map(speedscope, profiles))), *map(folded, profiles), profiles[1].stalls
        )
    assert walk.checksum == "f576426e69fc83f4"
