"""The SPI clock is far below what the chip takes, and bits are a part of the time that counts."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import factor, megahertz, percent

LEAST_GAIN = 1.15
FIRES = "with SPI at 33.3 MHz a span would take 1/1.15 of its time or less, all else as it is"
GUARANTEED_HZ = 33_300_000
"""The W5500's datasheet 1.1.0, section 5.5.4: 80 MHz in theory, 33.3 MHz guaranteed."""
_CAUSES = ("spi_bits", "gap_pause")


def say(facts: Facts) -> Sentence | None:
    hz = facts.attribution.spi_hz
    if not hz or hz >= GUARANTEED_HZ:
        return None
    share = facts.share(*_CAUSES)
    gain = 1 / (1 - share * (1 - hz / GUARANTEED_HZ))
    if gain < LEAST_GAIN:
        return None
    text = (
        f"SPI at {megahertz(hz)} of 33 MHz: {percent(share)} of the time is bits on the bus, at most {factor(gain)}"
        " from there"
    )
    return Sentence("slow_spi", text, share, _CAUSES, {"gain": gain, "spi_hz": hz})
