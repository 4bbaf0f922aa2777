"""The core waits for flash more than it should."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import count, percent

LEAST = 0.25
FIRES = "flash cache misses take at least 25 % of the time"
_CAUSES = ("gap_miss", "driver_miss", "code_miss")
_CACHE_BYTES = 16 * 1024
_MOST_OF_IT = 0.9
_FROM_FLASH = 0.5


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
    pages = sorted(facts.attribution.flash_pages.misses.values(), reverse=True)
    touched, seen = 0, 0
    while touched < len(pages) and seen < _MOST_OF_IT * sum(pages):
        seen += pages[touched]
        touched += 1
    spread = touched * facts.attribution.flash_pages.page_bytes
    if spread > _CACHE_BYTES:
        text += f", and {percent(_MOST_OF_IT)} of the misses are spread over {spread // 1024} KiB of it"
        text += ", where the cache has 16"
        worst = max(facts.attribution.flash_pages.misses.items(), key=lambda page: page[1])
        text += f"; most are at {worst[0]}"
    return Sentence("flash_misses", text, share, _CAUSES, {"misses": misses, "accesses": accesses})
