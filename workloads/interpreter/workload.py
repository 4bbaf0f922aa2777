"""The speed of a port's Python itself: small loops with one kind of work each, timed on the board without a network."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Readiness,
    Session,
    Timed,
    Workload,
    WorkloadSettings,
    read_result,
)
from portbench.workloads.interpreter.loops import ARITHMETIC, COMMON, MACHINE_CODE, Loop

LEAST_STEPS = 100
"""The least steps of the board's clock in a measured time, for a resolution of one percent."""
_SHOWN = 40  # characters of an answer in a message


class Settings(WorkloadSettings):
    # A million passes of the slowest known loop take 100 s; MicroPython's ticks_us wraps after 536 s.
    passes: int = Field(default=10_000, ge=1000, le=1_000_000, description="passes of a loop; slow loops make fewer")
    repeats: int = Field(default=3, ge=1, le=100, description="how often each loop is timed")


class TimedLoop(BaseModel):
    """One loop, as the client timed it."""

    model_config = ConfigDict(strict=True)

    passes: int
    times_us: list[Annotated[int, Field(ge=0)]]
    """The time of all passes; one entry per repeat, in order."""
    answer: Any
    """What the loop computed."""


class Result(BaseModel):
    model_config = ConfigDict(strict=True)

    clock_step_us: Annotated[int, Field(ge=1)]
    """The smallest step of the client's clock that the client saw."""
    loops: dict[str, TimedLoop]


class InterpreterWorkload(Workload):
    name = "interpreter"
    title = "Interpreter"
    readiness = Readiness.BOOTED
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

    def quick(self) -> Settings:
        return Settings(repeats=1)

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = read_result(Result, result)
        loops = _loops_that_are_due(said.loops)
        for loop in loops:
            _check_loop(loop, said.loops[loop.name], said.clock_step_us, settings)
        figures = {
            _figure(loop): min(said.loops[loop.name].times_us) * 1000 / loop.passes(settings.passes) for loop in loops
        }
        samples: dict[str, list[float]] = {f"{loop.name}_us": [*said.loops[loop.name].times_us] for loop in loops}
        return Measurement(self.derive(figures, settings), samples)

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        """The loops run one after the other in the order of `loops.py`, each as often as it is repeated."""
        said = read_result(Result, result)
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
        raise BadResult(f"the client timed {unknown[0]!r}, which is none of its loops")
    return due


def _check_loop(loop: Loop, timed: TimedLoop, clock_step_us: int, settings: Settings) -> None:
    passes = loop.passes(settings.passes)
    if timed.passes != passes:
        raise BadResult(f"the client's {loop.name} made {timed.passes} passes, not {passes}")
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
