"""Drawings by matplotlib as SVG that stands in a page: its colours are the page's, so that they follow dark and light.

A drawing is made twice, for wide and for narrow screens, at the size at which it is shown: text is never scaled.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from portbench.errors import LibraryMissing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE: Final = 840
NARROW: Final = 312
"""Pixels. A screen of 360 less the margins of a drawing."""
_TEXT: Final = 12.0
_POINTS: Final = 72
_AROUND_LANES: Final = 58.0
_NARROW_LETTERS: Final = 40
_WIDE_LETTERS: Final = 110

INK: Final = "#0a0a01"
SOFT: Final = "#0a0a02"
LINES: Final = "#0a0a03"
MARKERS: Final = (("o", "●"), ("s", "■"), ("D", "◆"), ("^", "▲"), ("v", "▼"))
"""Of the series: in the drawing and in the legend, so that they can be told apart without colours."""
SERIES: Final = tuple(f"#0b0b{number:02x}" for number in range(1, 9))
"""Placeholders: each becomes a property of the page's style sheet."""
_PROPERTIES: Final = {
    INK: "--ink",
    SOFT: "--soft",
    LINES: "--lines",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES, 1)},
}
_SETTINGS: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "portbench",
    "font.size": _TEXT,
    "text.color": INK,
    "axes.edgecolor": LINES,
    "axes.labelcolor": SOFT,
    "axes.labelsize": _TEXT,
    "xtick.color": LINES,
    "ytick.color": LINES,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": INK,
    "xtick.labelsize": _TEXT,
    "ytick.labelsize": _TEXT,
    "grid.color": LINES,
    "lines.linewidth": 2,
    "lines.solid_capstyle": "round",
}

Draw = Callable[["Axes", bool], None]
"""Draws onto the axes; whether for a narrow screen."""


def page_libraries() -> AbstractContextManager[None]:
    """For a block that imports libraries of drawing and templates: measuring needs neither. Raises LibraryMissing."""
    return LibraryMissing.unless_installed("page", "a page of HTML")


def colour(number: int) -> str:
    """Of the series of that number, from 0."""
    return SERIES[number % len(SERIES)]


def style(colour: str) -> str:
    """The same for the page's own elements."""
    return f"var({_PROPERTIES[colour]})"


def drawings(draw: Draw, height: float) -> tuple[str, str]:
    """SVG for wide and for narrow screens; `height` in pixels. Raises LibraryMissing."""
    wide, narrow = (_drawing(draw, width, height, is_narrow) for width, is_narrow in ((WIDE, False), (NARROW, True)))
    return wide, narrow


def picture(drawing: str, height: float) -> str:
    """A wide drawing as an SVG file, with its size, a background, and the page's colours for light and dark."""
    colours = (Path(__file__).with_name("page.css")).read_text(encoding="utf-8").partition("\n* {")[0]
    head, _, body = drawing.partition(">")
    background = '<rect width="100%" height="100%" rx="8" style="fill: var(--page)"/>'
    return f'{head} width="{WIDE}" height="{height:g}"><style>\n{colours}\n</style>{background}{body}\n'


def lanes(axes: Axes, names: Sequence[str], narrow: bool) -> None:
    """A lane for each name at y 0, 1, ... from the top; the name stands above its lane, where it has most room."""
    names = [_short(name, _NARROW_LETTERS if narrow else _WIDE_LETTERS) for name in names]
    axes.set_ylim(len(names) - 0.35, -0.75)
    axes.set_yticks([])
    for number, name in enumerate(names):
        axes.annotate(
            name, (0, number - 0.42), xycoords=("axes fraction", "data"), ha="left", va="center", fontsize=_TEXT
        )
    bare(axes, "x")
    axes.tick_params(length=3)


def bare(axes: Axes, grid: Literal["x", "y"]) -> None:
    """No frame but the axis below, and a thin grid."""
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.grid(axis=grid, linewidth=0.7)
    axes.set_axisbelow(True)


def lanes_height(number: int, lane: float = 46.0) -> float:
    """Of a drawing with so many lanes, with its axis below."""
    return _AROUND_LANES + lane * number


def log_ticks(axes: Axes, low: float, high: float, narrow: bool) -> None:
    """A logarithmic x axis whose ticks are plain numbers, so many as have room."""
    with page_libraries():
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    inside = log_steps(low, high)
    if len(inside) > (5 if narrow else 10):
        tens = [step for step in inside if f"{step:.0e}".startswith("1")]
        inside = tens if len(tens) > 1 else inside[:: max(1, len(inside) // 4)]
    axes.xaxis.set_major_locator(FixedLocator(inside))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def log_steps(low: float, high: float) -> list[float]:
    """1, 2, 5, 10 and so on, from `low` to `high`."""
    steps = [10.0**exponent * digit for exponent in range(-9, 13) for digit in (1, 2, 5)]
    return [step for step in steps if low <= step <= high]


def plain(value: float) -> str:
    """A number for a tick: never with an exponent."""
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:g}"


def _short(text: str, most: int) -> str:
    """Without its middle, where it has more letters than that."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def _drawing(draw: Draw, width: float, height: float, narrow: bool) -> str:
    with page_libraries():
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(width / _POINTS, height / _POINTS))
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        figure.patch.set_visible(False)
        draw(axes, narrow)
        figure.tight_layout(pad=0.2)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _for_a_page(out.getvalue())


def _for_a_page(svg: str) -> str:
    """The element alone, in the page's colours and font, without what names things that nothing refers to."""
    text = svg[svg.index("<svg") :].strip()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"#0[ab]0[ab][0-9a-f]{2}", lambda match: f"var({_PROPERTIES[match[0]]})", text)
    text = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "system-ui, sans-serif", text)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"([^>]*?) width="[^"]*"', r"\1\2", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"([^>]*?) height="[^"]*"', r"\1\2", text)
    text = text.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
    named = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in named else "", text)
    unique = f"d{zlib.crc32(text.encode()):x}-"
    text = re.sub(r'(\bid="|url\(#|href="#)', lambda match: match[1] + unique, text)
    return re.sub(r">\s+<", "><", text)
