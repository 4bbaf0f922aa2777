"""One register is read over and over."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import count, percent

LEAST = 0.3
LEAST_SPI = 0.2
LEAST_READS = 8.0
FIRES = (
    "one register's reads are at least 30 % of the SPI frames and 8 a span, and SPI with its driver takes at least"
    " 20 % of the time"
)


def say(facts: Facts) -> Sentence | None:
    reads = {name: n for name, n in facts.whole.registers.items() if name.endswith(" read")}
    frames = facts.each("spi_frames")
    if not reads or not frames or facts.share("spi", "driver") < LEAST_SPI:
        return None
    name, total = max(reads.items(), key=lambda each: (each[1], each[0]))
    each = total / facts.spans
    if each < LEAST_READS or each < LEAST * frames:
        return None
    text = (
        f"{name.removesuffix(' read')} is read {count(each)} times a {facts.noun}, {percent(each / frames)} of all"
        " SPI frames"
    )
    return Sentence("polled_register", text, None, (), {"reads": each})
