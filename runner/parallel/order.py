"""Which process measures which row next, where each drives an emulated board of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """What is given to a process at once. Units of one `program` find it on the board that measured it last.

    `alone`: nothing else may run meanwhile. `weight`: how long it takes beside others, by a guess.
    """

    program: str
    alone: bool = False
    weight: int = 0


class Order:
    """What must be alone comes first, then the heaviest program, so that no process is left with it at the end.

    A process keeps its program, and takes a part of another's only where there is none left that nobody began.
    """

    def __init__(self, units: Mapping[str, Unit]) -> None:
        """`units` in the order in which equals are measured."""
        self._units = units
        self._begun: set[str] = set()
        self._last: dict[Hashable, str] = {}
        self._alone: tuple[str, Hashable] | None = None
        """The unit that is measured alone, and by which process."""

    def next(self, process: Hashable, waiting: Iterable[str]) -> str | None:
        """The unit of `waiting`, which is not empty, that `process` is to measure; None while another process measures
        one that must be alone, until `ended` tells of it or it waits again."""
        left = list(waiting)
        if self._alone is not None and self._alone[0] not in left and self._alone[1] != process:
            return None
        chosen = self._choose(left, self._last.get(process))
        unit = self._units[chosen]
        self._last[process] = unit.program
        self._begun.add(unit.program)
        if unit.alone:
            self._alone = chosen, process
        return chosen

    def ended(self, unit: str) -> bool:
        """All of `unit` has been measured: whether others waited for that."""
        if self._alone is None or self._alone[0] != unit:
            return False
        self._alone = None
        return True

    def _choose(self, waiting: list[str], own: str | None) -> str:
        for unit in waiting:
            if self._units[unit].alone or self._units[unit].program == own:
                return unit
        fresh = [unit for unit in waiting if self._units[unit].program not in self._begun]
        if fresh:
            return max(fresh, key=lambda unit: self._units[unit].weight)
        programs = [self._units[unit].program for unit in waiting]
        return max(waiting, key=lambda unit: self._units[unit].weight * programs.count(self._units[unit].program))
