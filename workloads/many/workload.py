"""Many connections of a board: at once, in a row, with little memory, and with a failing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Readiness,
    Session,
    Workload,
    WorkloadSettings,
    read_result,
)
from portbench.workloads.many.conversation import Obeys

Trial = Literal["at_once", "rate", "memory", "closed", "reset", "restart", "cable"]
_GOOD = "ok"


class Settings(WorkloadSettings):
    trial: Trial = Field(
        default="at_once", description="at_once, rate, memory, closed, reset, restart or cable; see the workload's page"
    )
    most: int = Field(default=12, ge=2, le=100, description="number of connections, or of attempts")


class Result(BaseModel):
    model_config = ConfigDict(strict=True)

    steps: list[
        Annotated[
            tuple[Annotated[str, Field(max_length=60)], Annotated[str, Field(max_length=200)], int], Field(strict=False)
        ]
    ]
    """Name, `ok`, `nothing` or the error, and microseconds on the board's clock, of each step."""


class ManyWorkload(Workload):
    name = "many"
    title = "Many connections, and what goes wrong with one"
    readiness = Readiness.CONNECTED
    headline = Metric("good_steps", "steps that worked")
    reading = (
        "*steps that worked* of all *steps* of the trial; *open* is the most connections that were open at once,"
        " *ms each* the time to open one, say hi and close it. Each step's result is a separate figure in"
        " `portbench show --json`: the step, `: ` and the error."
    )
    columns = (
        Column("steps", "steps"),
        Column("open", "open"),
        Column("ms each", "each_us", scale=0.001),
    )
    settings_type = Settings
    patience_us = 45e6
    exchange = "line"

    def quick(self) -> Settings:
        return Settings(trial="rate", most=2)

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        steps = read_result(Result, result).steps
        if not steps or steps[0][1] != _GOOD:
            raise BadResult(f"the first connection does not work: {steps[0][1] if steps else 'no step was made'}")
        faults = [session.error for session in sessions if session.error is not None and "lost" not in session.error]
        if faults:
            raise BadResult(faults[0])
        figures = {"steps": float(len(steps)), "good_steps": float(sum(said == _GOOD for _, said, _ in steps))}
        for name, said, took_us in steps:
            key = name if said == _GOOD else f"{name}: {said}"
            figures[f"{key}, times"] = figures.get(f"{key}, times", 0.0) + 1
            figures[f"{key}, us"] = max(figures.get(f"{key}, us", 0.0), float(took_us))
        opened = [name for name, said, _ in steps if said == _GOOD and name.startswith("open ")]
        if settings.trial == "at_once":
            figures["open"] = 1.0 + sum(name != "open again" for name in opened)
        if settings.trial == "rate":
            figures |= _each(steps)
        return Measurement(figures)

    def exchanges(self, settings: Settings) -> int:
        return 1

    def conversation(self, max_bytes: int) -> Obeys:
        return Obeys()


def _each(steps: Sequence[tuple[str, str, int]]) -> dict[str, float]:
    """The mean time to open, use and close a connection; empty without a closed one."""
    whole = sum(said == _GOOD for name, said, _ in steps if name == "close")
    took_us = sum(us for name, _, us in steps[1:-1])
    return {"each_us": took_us / whole} if whole else {}


WORKLOAD = ManyWorkload()
