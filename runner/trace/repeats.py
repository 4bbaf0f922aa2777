"""Finds what repeats in a sequence, so that a loop is told once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

MOST_STEPS = 12
"""Of a loop that is looked for."""


@dataclass(frozen=True)
class Repeat:
    """Items `start` to `start + steps`, `times` times over."""

    start: int
    steps: int
    times: int

    @property
    def end(self) -> int:
        return self.start + self.steps * self.times


def repeats(keys: Sequence[Hashable]) -> list[Repeat]:
    """All of `keys` in order: from the first on, each time as the loop that covers most; else as one step.

    Of loops that cover as much, the shortest: `a a a a` is `a` four times.
    """
    found = []
    at = 0
    while at < len(keys):
        best = Repeat(at, 1, 1)
        for steps in range(1, min(MOST_STEPS, (len(keys) - at) // 2) + 1):
            times = 1
            block = keys[at : at + steps]
            while keys[at + times * steps : at + (times + 1) * steps] == block:
                times += 1
            if times > 1 and steps * times > best.steps * best.times:
                best = Repeat(at, steps, times)
        found.append(best)
        at = best.end
    return found
