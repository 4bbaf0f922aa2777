"""A user's workload that the PC begins: an echo server on the board, timed at the PC."""

from collections.abc import Mapping, Sequence
from typing import Any

from portbench.workloads.echo_server.conversation import AskForEcho
from pydantic import Field

from portbench.workloads import (
    BadResult,
    Called,
    LoadGenerator,
    Measurement,
    Metric,
    Session,
    WorkloadResult,
    WorkloadSettings,
)


class Settings(WorkloadSettings):
    connections: int = Field(3, ge=1, le=1000, description="connections of one run")
    at_once: int = Field(1, ge=1, le=8, description="connections that are open at once")
    blocks: int = Field(2, ge=1, le=1000, description="blocks of one connection")
    block_bytes: int = Field(10, ge=1, le=50, description="bytes of one block")
    hang_up_after: int = Field(0, ge=0, description="bytes after which the board closes, 0 for never")


class Result(WorkloadResult):
    echoed_bytes: list[int]


class EchoServerWorkload(Called):
    name = "echo_server"
    title = "Echo server"
    headline = Metric("connections_per_s", "connections/s")
    settings_type = Settings

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        asked = [settings.blocks * settings.block_bytes] * settings.connections
        if said.echoed_bytes != asked or [session.received_bytes for session in sessions] != asked:
            raise BadResult(f"the client echoed {said.echoed_bytes} bytes, not {asked}")
        ended_us = max(session.ended_us or 0.0 for session in sessions)
        total_us = ended_us - min(session.started_us for session in sessions)
        samples = {
            "connect_us": [(session.established_us or 0.0) - session.started_us for session in sessions],
            "first_byte_us": [(session.first_byte_us or 0.0) - (session.asked_us or 0.0) for session in sessions],
        }
        figures = {"total_us": total_us, "connections_per_s": settings.connections * 1e6 / total_us}
        return Measurement(figures, samples)

    def exchanges(self, settings: Settings) -> int:
        return settings.connections * settings.blocks

    def load_generator(self, settings: Settings, max_bytes: int) -> LoadGenerator:
        return LoadGenerator(
            lambda: AskForEcho(settings.blocks, settings.block_bytes), settings.connections, at_once=settings.at_once
        )


WORKLOAD = EchoServerWorkload()
