"""MicroPython's own benchmarks: the scripts of its repository's `tests/perf_bench`, and their scores.

A score is a script's `norm`, which tells how much it does, divided by its time in seconds, as in run-perfbench.py.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field

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

COMMON: Final = (
    *("bm_chaos", "bm_fannkuch", "bm_fft", "bm_float", "bm_hexiom", "bm_nqueens", "bm_pidigits", "bm_wordcount"),
    *("core_locals", "core_qstr", "core_str", "core_yield_from"),
    *("misc_aes", "misc_mandel", "misc_pystone", "misc_raytrace"),
)
"""The scripts that every port can run."""
OPTIONAL: Final = (
    *("core_import_mpy_multi", "core_import_mpy_single"),
    *("viper_call0", "viper_call1a", "viper_call1b", "viper_call1c", "viper_call2a", "viper_call2b"),
)
"""The scripts that a port without the module `vfs`, or without `@micropython.viper`, leaves out."""
ALL: Final = (*COMMON, *OPTIONAL)
_RUNNER: Final = "benchrun"
_ANSWERS: Final = Path(__file__).with_name("answers.json")
"""CPython's answers, by script and norm."""


def _known(text: str) -> str:
    names = text.split(",")
    for name in names if text != "all" else ():
        if name not in ALL:
            raise ValueError(f"{name or 'nothing'} is not a script of perf_bench; choose from {', '.join(ALL)}")
    if len(names) != len(set(names)):
        raise ValueError(f"{text} names a script twice; name each once")
    return text


class Settings(WorkloadSettings):
    scripts: Annotated[str, AfterValidator(_known)] = Field(default="all", description="scripts, by name")
    cpu_mhz: int = Field(default=100, ge=84, le=5000, description="N of run-perfbench.py: chooses how long a script is")
    heap_kb: int = Field(default=100, ge=100, le=10_000, description="M of run-perfbench.py: chooses what it allocates")
    repeats: int = Field(default=3, ge=1, le=100, description="how often each script is run")

    @property
    def names(self) -> list[str]:
        return list(ALL) if self.scripts == "all" else self.scripts.split(",")


class Script(WorkloadResult):
    """One script: time of each run, how much it did, and what it computed."""

    times_us: list[Annotated[int, Field(ge=1)]]
    norm: Annotated[int, Field(ge=1)]
    answer: Any = None


class Result(WorkloadResult):
    scripts: dict[str, Script]


class PerfBenchWorkload(Workload):
    name = "perf_bench"
    title = "MicroPython's perf_bench"
    headline = Metric("score", "score")
    reading = (
        "a *score* is a script's own unit of work a second, as run-perfbench.py counts it; higher is better. The"
        " headline is the geometric mean of the scripts that every port can run, or of all where none of these is asked"
        " for."
    )
    columns = tuple(
        Column(name.partition("_")[2], f"{name}_score")
        for name in ("bm_chaos", "bm_fft", "bm_pidigits", "core_str", "misc_aes", "misc_pystone", "viper_call0")
    )
    parts = tuple(f"{name}_score" for name in sorted(ALL))
    settings_type = Settings
    quick_settings: ClassVar = {"repeats": 1}

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        return [f"{self.name}/{name}" for name in (_RUNNER, *settings.names)]

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result).scripts
        for name in settings.names:
            if name not in said and name in COMMON:
                raise BadResult(f"the client did not run {name}")
        if unknown := sorted(said.keys() - set(settings.names)):
            raise BadResult(f"the client ran {unknown[0]!r}, which was not asked for")
        if not said:
            raise BadResult(f"the port can run none of {settings.scripts}; choose other scripts")
        answers = json.loads(_ANSWERS.read_text(encoding="utf-8"))
        figures: dict[str, float] = {}
        for name, timed in said.items():
            if len(timed.times_us) != settings.repeats:
                raise BadResult(f"the client ran {name} {len(timed.times_us)} times, not {settings.repeats}")
            known = answers[name]
            if (norm := str(timed.norm)) not in known:
                raise BadResult(f"the client's {name} has the norm {norm}, not one of {', '.join(known)}")
            if timed.answer != known[norm]:
                raise BadResult(f"the client's {name} answered {timed.answer!r}, not {known[norm]!r}")
            figures[f"{name}_us"] = statistics.median(timed.times_us)
            figures[f"{name}_score"] = timed.norm * 1e6 / figures[f"{name}_us"]
        judged = [name for name in said if name in COMMON] or list(said)
        figures["score"] = statistics.geometric_mean(figures[f"{name}_score"] for name in judged)
        return Measurement(figures, {f"{name}_us": [*timed.times_us] for name, timed in said.items()})

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> Sequence[Timed]:
        ran = sorted(Result.read(result).scripts.items())  # the order in which the client runs all of them
        return [Timed(name, time_us) for name, script in ran for time_us in script.times_us]


WORKLOAD = PerfBenchWorkload()
