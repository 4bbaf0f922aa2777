"""The bus to the network chip, and the driver that uses it."""

from portbench.results.explain.facts import Facts, Sentence, rule, rule_of_share
from portbench.results.explain.words import count, duration, factor, megahertz, percent

_BYTE_BY_BYTE_LEAST_TIMES = 8.0
_BETWEEN_BYTES = ("gap_miss", "gap_wait", "gap_run")
_FEWEST_BYTES = 3.0


@rule_of_share(
    "at least 15 % of the time is between the bytes of SPI frames, and a gap is at least 8 times as long as a byte;"
    " frames of at least 3 bytes",
    0.15,
    *_BETWEEN_BYTES,
)
def byte_by_byte(facts: Facts, share: float) -> Sentence | None:
    """The bus idles between the bytes of a frame, because the driver hands it each byte by itself."""
    frames, wire_bytes = facts.each("spi_frames"), facts.each("spi_bytes")
    # A radio chip's bus is a PIO program's, which takes whole frames.
    if facts.radio_frames or not frames or wire_bytes / frames < _FEWEST_BYTES:
        return None
    gap_ps, byte_ps = facts.each_ps(*_BETWEEN_BYTES) / wire_bytes, facts.each_ps("spi_bits") / wire_bytes
    if not byte_ps or gap_ps < _BYTE_BY_BYTE_LEAST_TIMES * byte_ps:
        return None
    frame_ps = facts.each_ps("spi") / frames
    text = (
        f"the driver hands the SPI bus each byte by itself: {duration(gap_ps)} between two bytes that take"
        f" {duration(byte_ps)} each, {duration(frame_ps)} for a frame of {count(wire_bytes / frames)} bytes,"
        f" {percent(share)} of the time"
    )
    return Sentence(text, figures={"gap_us": gap_ps / 1e6, "byte_us": byte_ps / 1e6})


@rule_of_share("gSPI is selected for at least 10 % of the time", 0.1, "spi_bits", *_BETWEEN_BYTES)
def gspi(facts: Facts, share: float) -> Sentence | None:
    """Frames cross the radio chip's bus slowly."""
    if not facts.radio_frames:
        return None
    bits_ps, all_frames = facts.each_ps("spi_bits"), facts.each("spi_frames")
    around_ps = facts.each_ps(*_BETWEEN_BYTES)
    text = (
        f"gSPI to the radio takes {percent(share)} of the time: {count(all_frames)} transfers a {facts.noun},"
        f" {count(facts.radio_frames)} of them frames, {duration(bits_ps)} for {count(facts.each('spi_bytes'))} bytes"
        f" and {duration(around_ps)} to start and end them"
    )
    return Sentence(text, figures={"bits_us": bits_ps / 1e6, "around_us": around_ps / 1e6})


_POLLED_REGISTER_LEAST = 0.3
_POLLED_REGISTER_LEAST_SPI = 0.2
_POLLED_REGISTER_LEAST_READS = 8.0


@rule(
    "one register's reads are at least 30 % of the SPI frames and 8 a span, and SPI with its driver takes at least"
    " 20 % of the time"
)
def polled_register(facts: Facts) -> Sentence | None:
    """One register is read over and over."""
    reads = {name: n for name, n in facts.whole.registers.items() if name.endswith(" read")}
    frames = facts.each("spi_frames")
    if not reads or not frames or facts.share("spi", "driver") < _POLLED_REGISTER_LEAST_SPI:
        return None
    name, total = max(reads.items(), key=lambda each: (each[1], each[0]))
    each = total / facts.spans
    if each < _POLLED_REGISTER_LEAST_READS or each < _POLLED_REGISTER_LEAST * frames:
        return None
    text = (
        f"{name.removesuffix(' read')} is read {count(each)} times a {facts.noun}, {percent(each / frames)} of all"
        " SPI frames"
    )
    return Sentence(text, None, (), {"reads": each})


_SLOW_SPI_LEAST_GAIN = 1.15
_GUARANTEED_HZ = 33_300_000
"""The W5500's datasheet 1.1.0, section 5.5.4: 80 MHz in theory, 33.3 MHz guaranteed."""
_SLOW_SPI_CAUSES = ("spi_bits", "gap_pause")


@rule("with SPI at 33.3 MHz a span would take 1/1.15 of its time or less, all else as it is")
def slow_spi(facts: Facts) -> Sentence | None:
    """The SPI clock is far below what the chip takes, and bits are a part of the time that counts."""
    hz = facts.attribution.spi_hz
    if not hz:
        return None
    share, gain = facts.share(*_SLOW_SPI_CAUSES), facts.gain(hz, _GUARANTEED_HZ, *_SLOW_SPI_CAUSES)
    if gain < _SLOW_SPI_LEAST_GAIN:
        return None
    text = (
        f"SPI at {megahertz(hz)} of 33 MHz: {percent(share)} of the time is bits on the bus, at most {factor(gain)}"
        " from there"
    )
    return Sentence(text, share, _SLOW_SPI_CAUSES, {"gain": gain, "spi_hz": hz})
