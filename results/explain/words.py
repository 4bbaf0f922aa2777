"""Numbers in sentences."""

PS_PER_US = 1_000_000


def duration(ps: float) -> str:
    """Three digits, in the unit that reads best: `59.6 ms`, `240 us`."""
    us = ps / PS_PER_US
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{_digits(us / size)} {unit}"
    return f"{_digits(us)} us"


def part(ps: float, whole_ps: float) -> str:
    """`59.6 of 62.2 ms`, in the unit of the whole."""
    whole = duration(whole_ps)
    unit = whole.rpartition(" ")[2]
    size = {"s": 1e6, "ms": 1e3, "us": 1.0}[unit]
    return f"{_digits(ps / PS_PER_US / size)} of {whole}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def megahertz(hz: float) -> str:
    return f"{hz / 1e6:.3g}"


def factor(value: float) -> str:
    """`1.87x`, `12x`."""
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"


def count(value: float) -> str:
    """`21.9`, `34 821`."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return _digits(value)


def _digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    text = f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".")
