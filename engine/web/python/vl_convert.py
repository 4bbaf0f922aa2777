"""Stand-in for vl-convert in a page, where Vega itself draws: a drawing is noted first, and taken from
what the page has drawn when the same text is made once more.
"""

import json
from typing import Any

wanted: dict[str, str] = {}
"""Drawings to come, each a specification with its configuration in JSON, by the same text."""
drawn: dict[str, str] = {}
"""SVG by the specification."""


def vegalite_to_svg(spec: dict[str, Any], vl_version: str, config: dict[str, Any]) -> str:
    text = json.dumps({**spec, "config": config}, sort_keys=True)
    if text not in drawn:
        wanted[text] = text
    return drawn.get(text, "<svg ></svg>")
