"""A user's workload that needs no network: passes through a loop."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Session,
    Workload,
    WorkloadResult,
    WorkloadSettings,
)


class Settings(WorkloadSettings):
    passes: int = Field(100, ge=1, le=1000, description="passes through the loop")
    backwards: bool = Field(False, description="count down")


class Result(WorkloadResult):
    total_us: Annotated[int, Field(ge=0)]
    last: int


class SpinWorkload(Workload):
    name = "spin"
    title = "Spinning"
    headline = Metric("us_per_pass", "us", "lower")
    columns = (Column("total ms", "total_us", scale=0.001),)
    settings_type = Settings
    quick_settings: ClassVar = {"passes": 3}

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        last = 0 if settings.backwards else settings.passes - 1
        if said.last != last:
            raise BadResult(f"the client's last pass is {said.last}, not {last}")
        return Measurement(self.derive({"total_us": said.total_us}, settings))

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        return {**figures, "us_per_pass": max(figures["total_us"], 1) / settings.passes}


WORKLOAD = SpinWorkload()
