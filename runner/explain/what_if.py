"""What one change would bring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WhatIf:
    """One thing that is not so, and what the row would give if it were: never a row of a ranking."""

    name: str
    title: str
    value: float
    """The headline figure."""
    times: float
    """How many times better than the row as it is."""
