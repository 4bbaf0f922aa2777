"""The bus idles between the bytes of a frame, because the driver hands it each byte by itself."""

from __future__ import annotations

from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import count, duration, percent

LEAST = 0.15
LEAST_TIMES = 8.0
FIRES = (
    "at least 15 % of the time is between the bytes of SPI frames, and a gap is at least 8 times as long as a byte;"
    " frames of at least 3 bytes"
)
_CAUSES = ("gap_miss", "gap_wait", "gap_run")
_FEWEST_BYTES = 3.0


def say(facts: Facts) -> Sentence | None:
    share = facts.share(*_CAUSES)
    frames, wire_bytes = facts.each("spi_frames"), facts.each("spi_bytes")
    # A radio chip's bus is a PIO program's, which takes whole frames.
    if share < LEAST or facts.radio_frames or not frames or wire_bytes / frames < _FEWEST_BYTES:
        return None
    gap_ps, byte_ps = facts.each_ps(*_CAUSES) / wire_bytes, facts.each_ps("spi_bits") / wire_bytes
    if not byte_ps or gap_ps < LEAST_TIMES * byte_ps:
        return None
    frame_ps = facts.each_ps("spi") / frames
    text = (
        f"the driver hands the SPI bus each byte by itself: {duration(gap_ps)} between two bytes that take"
        f" {duration(byte_ps)} each, {duration(frame_ps)} for a frame of {count(wire_bytes / frames)} bytes,"
        f" {percent(share)} of the time"
    )
    return Sentence("byte_by_byte", text, share, _CAUSES, {"gap_us": gap_ps / 1e6, "byte_us": byte_ps / 1e6})
