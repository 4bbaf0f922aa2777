"""The publisher of an image, by its address: a project, a board's maker, or others."""

from typing import Final
from urllib.parse import urlsplit

_PROJECTS: Final = {
    "micropython.org": "MicroPython",
    "circuitpython.org": "CircuitPython",
    "downloads.circuitpython.org": "CircuitPython",
}
_MAKERS: Final = {"wiznet": "WIZnet", "wiznetmaker": "WIZnet"}
"""Makers of boards, by the names of their GitHub accounts."""


def publisher(url: str | None) -> str:
    """The name to print beside an image."""
    place = urlsplit(url or "")
    if place.hostname in _PROJECTS:
        return _PROJECTS[place.hostname]
    account = place.path.strip("/").partition("/")[0] if place.hostname == "github.com" else ""
    return _MAKERS.get(account.lower(), f"{account} on GitHub" if account else place.hostname or "unknown")


def is_official(url: str | None) -> bool:
    """Return True if the address is a project's own."""
    return urlsplit(url or "").hostname in _PROJECTS
