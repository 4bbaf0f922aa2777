"""The two pages that every board serves, and their fixed parts."""

from __future__ import annotations

import re
from typing import Final, Literal

Page = Literal["static", "dynamic"]

STATIC: Final = (
    b"<!DOCTYPE html><html><head><title>portbench</title></head><body><h1>portbench</h1>"
    b"<p>A page of 137 bytes, as its model.</p></body></html>"
)
"""137 bytes, the size of the page in the published measurement."""
PATH: Final[dict[Page, bytes]] = {"static": b"/", "dynamic": b"/dynamic"}
FOREIGN_PORT: Final = 80
END_PATH: Final = b"/end"
"""The path of the last request, which stops the board."""
_DYNAMIC: Final = re.compile(
    rb"<!DOCTYPE html><html><body><p>request (?P<count>[0-9]{1,9})</p><p>ADC (?P<adc>[0-9]{1,5}|none)</p></body></html>"
)


def fault(page: Page, body: bytes) -> str | None:
    """The fault of the received body of `page`, or None."""
    if page == "static":
        return None if body == STATIC else f"the page is {_shown(body)}, not the static one of {len(STATIC)} bytes"
    found = _DYNAMIC.fullmatch(body)
    if found is None:
        return f"the page is {_shown(body)}, not the dynamic one"
    if found["adc"] != b"none" and int(found["adc"]) > 0xFFFF:
        return f"the page's ADC reading is {int(found['adc'])}, more than 16 bits"
    return None


class Alike:
    """Checks that all bodies of an unknown server equal the first."""

    def __init__(self) -> None:
        self._first: bytes | None = None

    def fault(self, body: bytes) -> str | None:
        if self._first is None:
            self._first = body
        if body == self._first:
            return None
        return f"the page is {_shown(body)}, and the first was {_shown(self._first)}; use -s page=dynamic"


def _shown(body: bytes) -> str:
    return f"{len(body)} bytes, {body[:32]!r}"
