"""Drawings by Vega-Lite as SVG that stands in a page: its colours are the page's, so that they follow dark and light.

A drawing is rendered for wide and for narrow screens, at the size at which it is shown: text is never scaled. What a
mark `says` is shown where the pointer rests on it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Literal

from portbench.errors import LibraryMissing

WIDE: Final = 640
NARROW: Final = 298
"""Pixels. A screen of 360 less the margins of a drawing; two wide ones stand beside each other at 1440."""
PICTURE: Final = 440
"""Width of a file in a page of Markdown: its text is legible on a desktop and on a phone, where the page shrinks it."""
PREVIEW: Final = 600
"""Width of a picture for links, which is shown at twice the size."""
LANE: Final = 46.0
"""Pixels of the height of a lane."""
_VEGA_LITE: Final = "6.4"

_NEEDLESS: Final = re.compile(
    r' (?:(?:aria-[a-z]+|role|class|pointer-events|xmlns:xlink|stroke-miterlimit)="[^"]*"|opacity="1")'
)
"""Attributes of Vega's SVG."""

INK: Final = "var(--ink)"
SOFT: Final = "var(--soft)"
LINES: Final = "var(--lines)"
SHAPES: Final = (
    ("circle", "●"),
    ("square", "■"),
    ("diamond", "◆"),
    ("triangle-up", "▲"),
    ("triangle-down", "▼"),
)
"""Marks of the series, in the drawing and in the legend: they differ without colours."""
_SERIES: Final = 8
_CONFIG: Final = {
    "font": "system-ui, sans-serif",
    "background": None,
    "padding": {"left": 2, "right": 16, "top": 2, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": LINES,
        "domainColor": LINES,
        "tickColor": LINES,
        "labelOverlap": "greedy",
        "labelSeparation": 8,
    },
    "text": {"color": INK, "fontSize": 13, "align": "left", "baseline": "middle"},
    "title": {"color": INK, "fontSize": 17, "anchor": "start", "offset": 12},
}

Marks = dict[str, Any]
"""A layer of Vega-Lite."""
Draw = Callable[[int], dict[str, Any]]
"""Returns a drawing for that many pixels of width."""
Place = Mapping[str, Any]
"""A mark's `x`, `y`, `x2`, `y2` in the units of the axes, its `colour`, what it `says`, its `text` or its `shape`."""


def page_libraries() -> AbstractContextManager[None]:
    """For a block that imports libraries of drawing and templates: measuring needs neither. Raises LibraryMissing."""
    return LibraryMissing.unless_installed("page", "a page of HTML")


def colour(number: int) -> str:
    """Return the colour of the series of that number, from 0."""
    return f"var(--series-{number % _SERIES + 1})"


def drawings(draw: Draw) -> tuple[str, str]:
    """SVG for wide and for narrow screens. Raises LibraryMissing."""
    return _svg(draw(WIDE)), _svg(draw(NARROW))


def picture(draw: Draw) -> str:
    """A drawing as an SVG file, with a background and the page's colours for light and dark. Raises
    LibraryMissing."""
    head, _, body = _svg(draw(PICTURE) | {"padding": 14}).partition(">")
    background = '<rect width="100%" height="100%" rx="8" style="fill: var(--page)"/>'
    return f"{head}><style>\n{_colours()}\n</style>{background}{body}\n"


def preview(draw: Draw) -> bytes:
    """A drawing as a light PNG of 1200 pixels, which a link to the page shows. Raises LibraryMissing."""
    with page_libraries():
        import vl_convert
    light = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", _colours().partition("@media")[0]))
    drawing = draw(PREVIEW) | {"background": "var(--page)", "padding": 24}
    svg = re.sub(r"var\((--[\w-]+)\)", lambda match: light[match[1]], _svg(drawing))
    return vl_convert.svg_to_png(svg.replace("system-ui, ", ""), scale=2)


def spec(
    width: int, height: float, x: Mapping[str, Any], y: Mapping[str, Any], layers: Sequence[Marks]
) -> dict[str, Any]:
    """A drawing of `layers` on two axes: each has its `domain`, from left or from below, and may have `type`, be
    `hidden`, or have properties of Vega-Lite's axes."""
    shared = {name: {"field": name, "type": "quantitative", **_axis(axis)} for name, axis in (("x", x), ("y", y))}
    return {"width": width, "height": height, "encoding": shared, "layer": list(layers)}


def in_lanes(
    width: int, names: Sequence[str], x: Mapping[str, Any], layers: Sequence[Marks], lane: float = LANE
) -> dict[str, Any]:
    """Draw in lanes of `lane` pixels at y 0, 1, ... from the top; the name of each stands above it, where it has
    most room."""
    above = marks("text", [{"y": number - 0.44, "text": name} for number, name in enumerate(names)], limit=width)
    above["encoding"]["x"] = {"value": 0}
    y = {"domain": [len(names) - 0.6, -0.65], "hidden": True}
    return spec(width, lane * len(names), x, y, [above, *layers])


def marks(kind: Literal["rect", "text", "point", "line", "rule"], places: Sequence[Place], **look: Any) -> Marks:
    """Marks of one kind; `look` as in Vega-Lite."""
    names = {name for place in places for name in place}
    encoding: dict[str, Any] = {name: {"field": name} for name in ("x2", "y2", "text") if name in names}
    if "says" in names:
        encoding["description"] = {"field": "says"}
    for name, channel in (("colour", "color"), ("shape", "shape")):
        if name in names:
            encoding[channel] = {"field": name, "type": "nominal", "scale": None}
    if kind == "line":
        encoding |= {"detail": {"field": "colour"}, "order": {"field": "x"}}
    return {
        "data": {"values": list(places)},
        "mark": {"type": kind, "aria": "says" in names, **look},
        "encoding": encoding,
    }


def log_axis(low: float, high: float, title: str) -> dict[str, Any]:
    """With ticks at 1, 2, 5, 10 and so on."""
    steps = [10.0**exponent * digit for exponent in range(-9, 13) for digit in (1, 2, 5)]
    values = [step for step in steps if low <= step <= high]
    ticks = {"values": values} if len(values) > 1 else {}
    return {"domain": [low, high], "type": "log", "title": f"{title}, logarithmic", **ticks}


def _axis(wanted: Mapping[str, Any]) -> dict[str, Any]:
    own = ("domain", "type", "hidden")
    look = {"title": None, "format": ",~r", "tickCount": 6} | {key: wanted[key] for key in wanted if key not in own}
    scale = {"domain": wanted["domain"], "type": wanted.get("type", "linear"), "nice": False, "zero": False}
    return {"axis": None if wanted.get("hidden") else look, "scale": scale}


def _colours() -> str:
    return (Path(__file__).with_name("page.css")).read_text(encoding="utf-8").partition("\n* {")[0]


def _svg(drawing: dict[str, Any]) -> str:
    """Rendered, without what Vega says of each element: a sentence beside the drawing describes it."""
    with page_libraries():
        import vl_convert
    text = vl_convert.vegalite_to_svg(drawing, vl_version=_VEGA_LITE, config=_CONFIG)
    says = r'<(\w+) aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="(?!axis)[^"]*"([^>]*)/>'
    text = re.sub(says, r"<\1\3><title>\2</title></\1>", text)
    text = re.sub("<[^>]+>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", re.sub(_NEEDLESS, "", tag[0])), text)
    text = re.sub(r'<path d="(?:M0,0h0v0h0Z)?"(?: display="none")?/>', "", text)
    while (shorter := re.sub(r"<g(?: transform=\"translate\(0,0\)\")?></g>", "", text)) != text:
        text = shorter
    return text.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
