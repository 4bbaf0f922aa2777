"""Answers to an unknown name: the nearest known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Iterable[str], shown: Mapping[str, str] | None = None) -> str:
    """The line that tells a user that there is no such `kind`: with the names that are like it, else with all.

    `shown`: the form of some names in the line.
    """
    known, shown = list(known), shown or {}
    near = [name] if name in known else get_close_matches(name.lower(), known, n=3, cutoff=0.6)
    names = [shown.get(each, each) for each in near or known]
    if near:
        return f"unknown {kind} {name!r}; did you mean {' or '.join(names)}?"
    return f"unknown {kind} {name!r}; choose one of {', '.join(names)}"
