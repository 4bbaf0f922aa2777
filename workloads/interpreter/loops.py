"""The loops: the number of passes and the expected answer of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_PRINTED: Final = 1e-5
"""CircuitPython's floats have 22 bits of mantissa and are printed with 6 digits."""
_POWER: Final = 1e-4
"""x**y multiplies the relative error of y by y * ln(x), here 17."""


@dataclass(frozen=True)
class Loop:
    """`answer`: the answer after so many passes; `within`: the relative error that a float may have."""

    name: str
    tenths: int
    """Tenths of the requested passes: slow bodies make fewer, machine code makes more."""
    answer: Callable[[int], Any]
    within: float = 0.0

    def passes(self, asked: int) -> int:
        return asked * self.tenths // 10

    def is_answer(self, value: Any, passes: int) -> bool:
        wanted = self.answer(passes)
        if self.within:
            return isinstance(value, int | float) and math.isclose(value, wanted, rel_tol=self.within)
        return type(value) is type(wanted) and bool(value == wanted)


_WORDS: Final = [f"word{number}" for number in range(16)]
_TEXT: Final = " ".join(_WORDS)
_VALUES: Final = [number * 7 % 16 for number in range(16)]
_BIG: Final = 3**200
_OTHER_BIG: Final = 7**110


def _always(value: Any) -> Callable[[int], Any]:
    return lambda passes: value


def _sum_of_cycle(values: list[int]) -> Callable[[int], int]:
    """The sum of one item per pass, over `values` in a cycle."""

    def total(passes: int) -> int:
        rounds, rest = divmod(passes, len(values))
        return rounds * sum(values) + sum(values[:rest])

    return total


ARITHMETIC: Final = (
    Loop("int_add", 10, _always(12345678 + 56781234)),
    Loop("int_mul", 10, _always(12345678 * 56781234)),
    Loop("int_div", 10, _always(99999991 / 45481), _PRINTED),
    Loop("float_add", 10, _always(12345678.1234 + 56781234.5678), _PRINTED),
    Loop("float_mul", 10, _always(12345678.1234 * 56781234.5678), _PRINTED),
    Loop("float_div", 10, _always(99999991.2345 / 45481.1357), _PRINTED),
    Loop("power", 10, _always(1234.5678**2.3456), _POWER),
)
"""The loops of shaoziyang/micropython_benchmarks, with its operands."""

COMMON: Final = (
    *ARITHMETIC,
    Loop("str_join", 2, _always(_TEXT)),
    Loop("str_equal", 10, lambda passes: passes),
    Loop("str_slice", 2, _always(_TEXT[5:21])),
    Loop("str_format", 2, lambda passes: f"word7 {passes - 1}"),
    Loop("list_append", 1, _always(_VALUES)),
    Loop("list_index", 10, _sum_of_cycle(_VALUES)),
    Loop("list_slice", 10, _always(_VALUES[4:12])),
    Loop("list_sort", 1, _always(list(range(16)))),
    Loop("dict_set", 10, lambda passes: sum(range(max(passes - 16, 0), passes))),
    Loop("dict_get", 10, _sum_of_cycle(list(range(16)))),
    Loop("dict_iterate", 1, lambda passes: passes * sum(range(16))),
    Loop("method_call", 10, lambda passes: passes),
    Loop("generator", 10, lambda passes: passes - 1),
    Loop("big_mul", 2, _always(_BIG * _OTHER_BIG)),
    Loop("big_square_mod", 1, lambda passes: pow(_BIG, 1 << passes, _OTHER_BIG)),
)
"""The loops of every port."""

MACHINE_CODE: Final = (
    Loop("native_int_add", 50, _always(12345678 + 56781234)),
    Loop("viper_int_add", 500, lambda passes: passes * (passes - 1) // 2 % (1 << 30)),
    Loop("viper_bytes", 500, lambda passes: _sum_of_cycle(list(range(256)))(passes) % (1 << 30)),
)
"""Loops that MicroPython compiles to machine code; a port has all of them or none."""
