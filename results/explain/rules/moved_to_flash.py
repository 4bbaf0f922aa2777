"""What one build runs from SRAM, the other runs from flash."""

from __future__ import annotations

import statistics

from portbench.results.attribution import Function
from portbench.results.explain.facts import Comparison
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import factor, percent

LEAST_MOVED = 0.3
LEAST_OF_ALL = 0.5
_MOST_NAMES = 3
FIRES = (
    "for at least half of what both timed, the share of instructions that come from flash differs by at least 30 points"
    " in the same direction"
)


def _moved(rows: Comparison, now: str) -> list[tuple[Function, Function]]:
    """Functions that are certain to run from elsewhere in the other row, those that miss most there first."""
    before = {each.name: each for each in rows.one.attribution.functions}
    after = [each for each in rows.other.attribution.functions if each.region == now]
    both = [(before[each.name], each) for each in after if each.name in before]
    moved = [(one, other) for one, other in both if one.region != other.region]
    return sorted(moved, key=lambda pair: (-pair[1].misses, -pair[0].misses, pair[1].name))


def _told(moved: list[tuple[Function, Function]], now: str) -> str:
    """With the lines of the linker maps where there are some."""
    named = [f"`{other.name}` (0x{one.address[2:]} -> 0x{other.address[2:]})" for one, other in moved[:_MOST_NAMES]]
    more = f" and {len(moved) - _MOST_NAMES} more" if len(moved) > _MOST_NAMES else ""
    text = f"; {', '.join(named)}{more} {'run' if len(moved) > 1 else 'runs'} from {now} now"
    lines = [other.section for _, other in moved[:_MOST_NAMES] if other.section]
    return text + (f", see {', '.join(map(repr, lines))} in the linker map" if lines else "")


def say_beside(rows: Comparison) -> Sentence | None:
    shares = rows.flash_shares
    into = [name for name, (one, other) in shares.items() if other - one >= LEAST_MOVED]
    out = [name for name, (one, other) in shares.items() if one - other >= LEAST_MOVED]
    moved = max(into, out, key=len)
    if not moved or len(moved) < LEAST_OF_ALL * len(shares):
        return None
    before, after = (statistics.median(shares[name][side] for name in moved) for side in (0, 1))
    changed = max(moved, key=lambda name: (abs(rows.ratios[name] - 1), name))
    what = "moved from SRAM to flash" if moved is into else "moved from flash to SRAM"
    accesses = [facts.each("cache_accesses") / max(1, facts.each("instructions")) for facts in (rows.one, rows.other)]
    text = (
        f"what runs most {what}: in {len(moved)} of {len(shares)} spans {percent(before)} of the"
        f" instructions came from flash, and {percent(after)} do now"
    )
    now = "flash" if moved is into else "SRAM"
    if functions := _moved(rows, now):
        text += _told(functions, now)
    text += f"; {accesses[0]:.2f} flash cache accesses an instruction became {accesses[1]:.2f}"
    text += f"; {changed} takes {factor(rows.ratios[changed])} as long"
    return Sentence("moved_to_flash", text, None, (), {"flash_share": before, "flash_share_beside": after})
