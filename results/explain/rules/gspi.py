"""Frames cross the radio chip's bus slowly."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import count, duration, percent

LEAST = 0.1
FIRES = "gSPI is selected for at least 10 % of the time"


def say(facts: Facts) -> Sentence | None:
    share = facts.share("spi_bits", "gap_miss", "gap_wait", "gap_run")
    if not facts.radio_frames or share < LEAST:
        return None
    bits_ps, all_frames = facts.each_ps("spi_bits"), facts.each("spi_frames")
    around_ps = facts.each_ps("gap_miss", "gap_wait", "gap_run")
    text = (
        f"gSPI to the radio takes {percent(share)} of the time: {count(all_frames)} transfers a {facts.noun},"
        f" {count(facts.radio_frames)} of them frames, {duration(bits_ps)} for {count(facts.each('spi_bytes'))} bytes"
        f" and {duration(around_ps)} to start and end them"
    )
    causes = ("spi_bits", "gap_run", "gap_miss", "gap_wait")
    return Sentence("gspi", text, share, causes, {"bits_us": bits_ps / 1e6, "around_us": around_ps / 1e6})
