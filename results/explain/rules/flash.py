"""Flash: its cache, and code that moved to it."""

import math
import statistics

from portbench.results.attribution import Function
from portbench.results.explain.facts import Facts, Sentence, TwoRows, rule, rule_of_share
from portbench.results.explain.words import PS_PER_US, count, duration, factor, megahertz, percent

_MISSES = ("gap_miss", "driver_miss", "code_miss")
_PLACE_STANDS_OUT = 0.1
_NAME_COUNTS = 0.05
_FLASH_MISSES_MOST_NAMES = 2
_FROM_FLASH = 0.5


def _where(facts: Facts) -> str:
    """The places of misses: functions of certain names, else the worst page, else that misses are spread."""
    named = [(each.name, part) for each, part in facts.code_misses if part >= _NAME_COUNTS][:_FLASH_MISSES_MOST_NAMES]
    told = " and ".join(f"{percent(part)} of the misses in `{name}`" for name, part in named)
    text = f"; {told}, which this build runs from flash" if named else ""
    pages = facts.attribution.flash_pages
    if not pages.misses or any(part >= _PLACE_STANDS_OUT for _, part in named):
        return text
    worst, misses = max(pages.misses.items(), key=lambda page: (page[1], page[0]))
    part, size = misses / sum(pages.misses.values()), f"{pages.page_bytes // 1024} KiB of flash"
    if part >= _PLACE_STANDS_OUT:
        return f"{text}; {percent(part)} of the misses in the {size} at {worst}"
    return f"{text}; the misses are spread: no {size} has more than {percent(part)} of them"


@rule_of_share("flash cache misses take at least 25 % of the time", 0.25, *_MISSES)
def flash_misses(facts: Facts, share: float) -> Sentence | None:
    """The core often waits for flash."""
    misses, accesses = facts.each("cache_misses"), facts.each("cache_accesses")
    if not accesses:
        return None
    text = f"{percent(share)} of the time is flash cache misses: {count(misses)} of {count(accesses)} accesses a"
    text += f" {facts.noun}"
    if facts.attribution.miss_cycles:
        text += f", {facts.attribution.miss_cycles} cycles each"
    if facts.attribution.next_line_cycles:
        text += f" or {facts.attribution.next_line_cycles} for the next line"
    flash_share = facts.flash_share
    if flash_share is not None and flash_share >= _FROM_FLASH:
        text += f"; {percent(flash_share)} of the instructions come from flash"
    text += _where(facts)
    return Sentence(text, figures={"misses": misses, "accesses": accesses})


_FLASH_HZ = 133_000_000
"""Guaranteed by the W25Q16JV and W25Q32JV at 3.0 V and more: their datasheets, AC characteristics."""
_LEAST_DIVIDER = 2
"""Least divider of clk_sys: the SSI of an RP2040 has even ones, and the QMI's 1 is too fast at 150 MHz."""
_SLOW_FLASH_LEAST_GAIN = 1.1


@rule("with flash read at clk_sys/2, or as fast as 133 MHz allow, a span would take 1/1.1 of its time or less")
def slow_flash(facts: Facts) -> Sentence | None:
    """The divider of the flash window's clock is greater than it has to be."""
    clk_sys_hz, hz = facts.attribution.clk_sys_hz, facts.attribution.flash_hz
    if not clk_sys_hz or not hz:
        return None
    best_hz = clk_sys_hz / max(_LEAST_DIVIDER, math.ceil(clk_sys_hz / _FLASH_HZ))
    share, gain = facts.share(*_MISSES), facts.gain(hz, best_hz, *_MISSES)
    if gain < _SLOW_FLASH_LEAST_GAIN:
        return None
    text = (
        f"flash is read at {megahertz(hz)} of {megahertz(best_hz)} MHz: {percent(share)} of the time is flash cache"
        f" misses, at most {factor(gain)} from there"
    )
    return Sentence(text, share, _MISSES, {"gain": gain, "flash_hz": hz})


_OTHER_MISSES_LEAST_SHARE = 0.1
_OTHER_MISSES_LEAST_RATIO = 1.15


@rule(
    "flash cache misses take at least 10 % of one row's time, and on an average 1.15 times as long in one as in the"
    " other"
)
def other_misses(rows: TwoRows) -> Sentence | None:
    """The flash window of the other board, or of the other build, has another timing."""
    both = (rows.one, rows.other)
    counts = [facts.each("cache_misses") for facts in both]
    if not all(counts) or max(facts.share(*_MISSES) for facts in both) < _OTHER_MISSES_LEAST_SHARE:
        return None
    each_ps = [facts.each_ps(*_MISSES) / count for facts, count in zip(both, counts, strict=True)]
    if min(each_ps) * _OTHER_MISSES_LEAST_RATIO > max(each_ps):
        return None
    text = (
        f"a flash cache miss took {duration(each_ps[0])} on an average and takes {duration(each_ps[1])};"
        f" {count(counts[0])} a {rows.one.noun} became {count(counts[1])}"
    )
    return Sentence(text, None, _MISSES, {"miss_us": each_ps[0] / PS_PER_US, "miss_us_beside": each_ps[1] / PS_PER_US})


_MOVED_TO_FLASH_LEAST_MOVED = 0.3
_MOVED_TO_FLASH_LEAST_OF_ALL = 0.5
_MOVED_TO_FLASH_MOST_NAMES = 3


def _moved(rows: TwoRows, now: str) -> list[tuple[Function, Function]]:
    """Functions that certainly moved to another memory, most misses first."""
    before = {each.name: each for each in rows.one.attribution.functions}
    after = [each for each in rows.other.attribution.functions if each.region == now]
    both = [(before[each.name], each) for each in after if each.name in before]
    moved = [(one, other) for one, other in both if one.region != other.region]
    return sorted(moved, key=lambda pair: (-pair[1].misses, -pair[0].misses, pair[1].name))


def _told(moved: list[tuple[Function, Function]], now: str) -> str:
    """Names of moved functions, with lines of the linker maps if known."""
    named = [
        f"`{other.name}` (0x{one.address[2:]} -> 0x{other.address[2:]})"
        for one, other in moved[:_MOVED_TO_FLASH_MOST_NAMES]
    ]
    more = f" and {len(moved) - _MOVED_TO_FLASH_MOST_NAMES} more" if len(moved) > _MOVED_TO_FLASH_MOST_NAMES else ""
    text = f"; {', '.join(named)}{more} {'run' if len(moved) > 1 else 'runs'} from {now} now"
    lines = [other.section for _, other in moved[:_MOVED_TO_FLASH_MOST_NAMES] if other.section]
    return text + (f", see {', '.join(map(repr, lines))} in the linker map" if lines else "")


@rule(
    "for at least half of what both timed, the share of instructions that come from flash differs by at least 30 points"
    " in the same direction"
)
def moved_to_flash(rows: TwoRows) -> Sentence | None:
    """One build runs code from SRAM that the other runs from flash."""
    shares = rows.flash_shares
    into = [name for name, (one, other) in shares.items() if other - one >= _MOVED_TO_FLASH_LEAST_MOVED]
    out = [name for name, (one, other) in shares.items() if one - other >= _MOVED_TO_FLASH_LEAST_MOVED]
    moved = max(into, out, key=len)
    if not moved or len(moved) < _MOVED_TO_FLASH_LEAST_OF_ALL * len(shares):
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
    return Sentence(text, None, (), {"flash_share": before, "flash_share_beside": after})
