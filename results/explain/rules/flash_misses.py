"""The core waits for flash more than it should."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import count, percent

LEAST = 0.25
FIRES = "flash cache misses take at least 25 % of the time"
_CAUSES = ("gap_miss", "driver_miss", "code_miss")
_PLACE_STANDS_OUT = 0.1
_NAME_COUNTS = 0.05
_MOST_NAMES = 2
_FROM_FLASH = 0.5


def _where(facts: Facts) -> str:
    """By name where that is certain, by address where a place stands out, and that they are spread where none does."""
    named = [(each.name, part) for each, part in facts.code_misses if part >= _NAME_COUNTS][:_MOST_NAMES]
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


def say(facts: Facts) -> Sentence | None:
    share = facts.miss_share
    misses, accesses = facts.each("cache_misses"), facts.each("cache_accesses")
    if share < LEAST or not accesses:
        return None
    text = f"{percent(share)} of the time is flash cache misses: {count(misses)} of {count(accesses)} accesses a"
    text += f" {facts.noun}"
    if facts.attribution.miss_cycles:
        text += f", {facts.attribution.miss_cycles} cycles each"
    flash_share = facts.flash_share
    if flash_share is not None and flash_share >= _FROM_FLASH:
        text += f"; {percent(flash_share)} of the instructions come from flash"
    text += _where(facts)
    return Sentence("flash_misses", text, share, _CAUSES, {"misses": misses, "accesses": accesses})
