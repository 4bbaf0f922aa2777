"""Answers to an unknown name: the nearest known ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The line that tells a user that there is no such `kind`: with names that are like it, else with all."""
    known = list(known)
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.6)
    if near:
        return f"unknown {kind} {name!r}; did you mean {' or '.join(near)}?"
    return f"unknown {kind} {name!r}; choose one of {', '.join(known)}"
