"""The speed of a port's Python itself: small loops with one kind of work each, timed on the board without a network."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Session,
    Timed,
    Workload,
    WorkloadResult,
    WorkloadSettings,
)

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


LEAST_STEPS = 100
"""The least steps of the board's clock in a measured time, for a resolution of one percent."""
_MOST_DOUBLINGS: Final = 8
"""Limit of doublings of the passes, by a client with a coarse clock."""
_SHOWN = 40  # characters of an answer in a message


class Settings(WorkloadSettings):
    # A million passes of the slowest known loop take 100 s; MicroPython's ticks_us wraps after 536 s.
    passes: int = Field(default=10_000, ge=1000, le=1_000_000, description="passes of a loop; slow loops make fewer")
    repeats: int = Field(default=3, ge=1, le=100, description="how often each loop is timed")


class TimedLoop(WorkloadResult):
    """One loop, as the client timed it."""

    passes: int
    times_us: list[Annotated[int, Field(ge=0)]]
    """The time of all passes; one entry per repeat, in order."""
    answer: Any
    """Value that the loop computed."""


class Result(WorkloadResult):
    clock_step_us: Annotated[int, Field(ge=1)]
    """The smallest step of the client's clock that the client saw."""
    loops: dict[str, TimedLoop]


class InterpreterWorkload(Workload):
    name = "interpreter"
    title = "Interpreter"
    headline = Metric("passes_per_s", "passes/s")
    reading = (
        "a *pass* is one turn of a loop. *passes/s* comes from the geometric mean of the times of all loops that every"
        " port has, *arithmetic/s* from the seven loops with published figures; the others are microseconds per pass."
    )
    columns = (
        Column("arithmetic/s", "arithmetic_passes_per_s"),
        *(
            Column(f"{name} us", f"{name}_ns_per_pass", scale=0.001)
            for name in (
                *("int_add", "int_mul", "float_mul", "power", "str_format", "list_sort", "dict_get"),
                *("method_call", "generator", "big_mul", "native_int_add", "viper_int_add"),
            )
        ),
    )
    comparable = ("arithmetic_passes_per_s",)
    settings_type = Settings
    quick_settings: ClassVar = {"repeats": 1}

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        loops = _loops_that_are_due(said.loops)
        for loop in loops:
            _check_loop(loop, said.loops[loop.name], said.clock_step_us, settings)
        timed = {loop: said.loops[loop.name] for loop in loops}
        figures = {_figure(loop): min(each.times_us) * 1000 / each.passes for loop, each in timed.items()}
        samples: dict[str, list[float]] = {f"{loop.name}_us": [*each.times_us] for loop, each in timed.items()}
        return Measurement(self.derive(figures, settings), samples)

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        """The loops run one after the other in the order of `COMMON` and `MACHINE_CODE`.

        Each runs as often as it is repeated.
        """
        said = Result.read(result)
        return [
            Timed(loop.name, us) for loop in _loops_that_are_due(said.loops) for us in said.loops[loop.name].times_us
        ]

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        """Add the mean rates, each only if all of its loops have figures."""
        derived = dict(figures)
        for name, loops in (("passes_per_s", COMMON), ("arithmetic_passes_per_s", ARITHMETIC)):
            if all(_figure(loop) in figures for loop in loops):
                derived[name] = 1e9 / statistics.geometric_mean(figures[_figure(loop)] for loop in loops)
        return derived


def _figure(loop: Loop) -> str:
    return f"{loop.name}_ns_per_pass"


def _loops_that_are_due(said: Mapping[str, TimedLoop]) -> tuple[Loop, ...]:
    """The loops of every port and, if `said` has any, of machine code. Raises BadResult for other loops."""
    due = (*COMMON, *MACHINE_CODE) if any(loop.name in said for loop in MACHINE_CODE) else COMMON
    names = {loop.name for loop in due}
    if missing := sorted(names - said.keys()):
        raise BadResult(f"the client's {missing[0]} is missing")
    if unknown := sorted(said.keys() - names):
        raise BadResult(f"the client timed {unknown[0]!r}, which is not one of its loops")
    return due


def _check_loop(loop: Loop, timed: TimedLoop, clock_step_us: int, settings: Settings) -> None:
    asked, passes = loop.passes(settings.passes), timed.passes
    if passes not in [asked << doublings for doublings in range(_MOST_DOUBLINGS + 1)]:
        raise BadResult(f"the client's {loop.name} made {passes} passes, not {asked}")
    if len(timed.times_us) != settings.repeats:
        raise BadResult(f"the client timed {loop.name} {len(timed.times_us)} times, not {settings.repeats}")
    if not loop.is_answer(timed.answer, passes):
        raise BadResult(f"the client's {loop.name} gave {_shown(timed.answer)}, not {_shown(loop.answer(passes))}")
    if (least_us := min(timed.times_us)) < LEAST_STEPS * clock_step_us:
        raise BadResult(
            f"the client's {loop.name} took {least_us} us, less than {LEAST_STEPS} steps of its clock, {clock_step_us}"
            f" us each; choose more than passes={settings.passes}"
        )


def _shown(answer: Any) -> str:
    text = repr(answer)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


WORKLOAD = InterpreterWorkload()
