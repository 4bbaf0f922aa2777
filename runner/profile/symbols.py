"""Names for addresses of a guest's code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

_REGIONS: Final = {0x0: "ROM", 0x1: "flash", 0x2: "SRAM"}
_ELSEWHERE: Final = "elsewhere"
_MOST_BYTES: Final = 0x1000
"""The assumed largest size of a function of unknown size; unknown code may follow it."""
REGIONS: Final = ("flash", "SRAM", "ROM", _ELSEWHERE)


def region(address: int) -> str:
    """The memory that code at `address` runs from."""
    return _REGIONS.get(address >> 28, _ELSEWHERE)


@dataclass(frozen=True, order=True)
class Symbol:
    """A function that begins at `start`; `size` 0: unknown, it ends before the next function.

    `section`: its section and object file in the linker map.
    """

    start: int
    size: int
    name: str
    section: str = field(default="", compare=False)


class Symbols:
    """Functions by address. An address outside all functions is its own name."""

    def __init__(self, symbols: Iterable[Symbol] = ()) -> None:
        by_start: dict[int, Symbol] = {}
        for symbol in sorted(symbols, key=lambda each: (each.start, -each.size, each.name)):
            by_start.setdefault(symbol.start, symbol)
        self._symbols = list(by_start.values())
        self._starts = [symbol.start for symbol in self._symbols]

    @property
    def starts(self) -> list[int]:
        return list(self._starts)

    def find(self, address: int) -> Symbol | None:
        """The function that `address` lies in."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        symbol = self._symbols[index]
        if address >= symbol.start + (symbol.size or _MOST_BYTES):
            return None
        return symbol if region(symbol.start) == region(address) else None

    def name(self, address: int) -> str:
        """`mp_execute_bytecode`; for an address outside all functions its 256 bytes, `0x1000ab00..`."""
        symbol = self.find(address)
        return symbol.name if symbol is not None else f"0x{address & ~0xFF:08x}.."

    def with_starts(self, starts: Iterable[int]) -> Symbols:
        """A copy with unnamed functions added at `starts`, outside known functions."""
        known = set(self._starts)
        inside = (start for start in starts if start not in known and self._beyond(start))
        return Symbols([*self._symbols, *(Symbol(start, 0, f"0x{start:08x}") for start in inside)])

    def _beyond(self, address: int) -> bool:
        symbol = self.find(address)
        return symbol is None or symbol.size == 0
