"""What a guest does that looks like mere silence from its console: each kind is told once since power-up."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Kind(StrEnum):
    HARD_FAULT = "hard fault"
    LOCK_UP = "lock-up"
    RESETS = "resets"
    STOPPED = "stopped"
    """The engine cannot go on: the guest uses what is not modelled."""


class Complaints:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: set[Kind] = set()

    def powered_up(self) -> None:
        self._told.clear()

    def tell(self, kind: Kind, text: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self._say(text)
