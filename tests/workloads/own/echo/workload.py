"""A user's workload that needs the PC: bytes there and back."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from portbench.workloads.echo.conversation import EchoConversation
from pydantic import Field

from portbench.workloads import Measurement, Metric, Served, Session, WorkloadResult, WorkloadSettings


class Settings(WorkloadSettings):
    block_bytes: int = Field(16, ge=1, le=1024, description="bytes of one block")
    blocks: int = Field(10, ge=1, le=1000, description="blocks of one run")


class Result(WorkloadResult):
    block_us: list[Annotated[int, Field(ge=0)]]


class EchoWorkload(Served):
    name = "echo"
    title = "Echo"
    headline = Metric("bytes_per_s", "bytes/s")
    settings_type = Settings

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        block_us = Result.read(result).block_us
        total_us = max(1, sum(block_us))
        rate = settings.blocks * settings.block_bytes * 1e6 / total_us
        return Measurement({"total_us": total_us, "bytes_per_s": rate}, {"block_us": list(block_us)})

    def exchanges(self, settings: Settings) -> int:
        return settings.blocks

    def conversation(self, max_bytes: int) -> EchoConversation:
        return EchoConversation(max_bytes)


WORKLOAD = EchoWorkload()
