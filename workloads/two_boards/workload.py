"""The rate of messages between two boards, and the time of each at the client."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Native,
    Paired,
    Readiness,
    Session,
    Workload,
    WorkloadResult,
    WorkloadSettings,
    workload,
)
from portbench.workloads.native import native_image

MOST_REPORTED = 1000
"""Most messages of a client without a console: the partner keeps its whole report, 4 to 7 bytes a message."""


class Settings(WorkloadSettings):
    messages: int = Field(default=200, ge=2, le=8_000, description="numbers that one board sends to the other")
    partner: str = Field(
        default="same",
        description="runtime of the partner: same (as the client's), each (of the chosen ones), or an id",
    )


class ServingSettings(WorkloadSettings):
    messages: int
    takes_report: bool


class Served(WorkloadResult):
    answered: int
    """Messages that the partner has answered."""
    ready_us: int
    """From its start until it listens."""


class Serving(Native):
    """The part of the partner, which serves."""

    name = "serving"
    title = "Serving"
    readiness = Readiness.LISTENING
    headline = Metric("answered", "messages")
    settings_type = ServingSettings
    boards_only = True

    def __reduce__(self) -> tuple[Callable[..., Workload], tuple[str, ...]]:
        """It is none of the registry's."""
        return Serving, ()

    def native_settings(self, settings: ServingSettings) -> list[int]:
        return [settings.messages, int(settings.takes_report)]

    def check(
        self, result: Mapping[str, Any], settings: ServingSettings, sessions: Sequence[Session] = ()
    ) -> Measurement:
        said = Served.read(result)
        if said.answered != settings.messages:
            raise BadResult(f"the partner answered {said.answered} messages, not {settings.messages}")
        return Measurement({"server_ready_us": said.ready_us})


class TwoBoardsWorkload(Paired, Native):
    name = "two_boards"
    title = "Two boards"
    headline = Metric("messages_per_s", "messages/s")
    reading = (
        "two boards on one switch: *runtime* is the client's, *partner* the server's. A *message* is a number of the"
        " client's and the server's answer, timed by the client from send to answer; no PC takes part."
    )
    columns = (
        Column("round trip us", "round_trip_us", "median"),
        Column("p99 us", "round_trip_us", "p99"),
        Column("first ms", "first_us", scale=0.001),
        Column("server ready ms", "server_ready_us", scale=0.001),
    )
    settings_type = Settings
    quick_settings: ClassVar = {"messages": 20}
    drifting = "round_trip_us"
    exchange = "message"
    across = "partner"

    @property
    def entry(self) -> str:
        return workload("ping_pong").entry

    def body(self, language: str) -> Path | None:
        """The client's side is the ping-pong's."""
        return workload("ping_pong").body(language)

    def native(self, mcu: str = "RP2040") -> Path | None:
        return native_image(workload("ping_pong"), mcu)

    def serving(self, settings: Settings, family: str) -> tuple[Workload, WorkloadSettings]:
        return Serving(), ServingSettings(messages=settings.messages, takes_report=family == "native")

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        ping_pong = workload("ping_pong")
        played = ping_pong.settings_type.model_validate({"messages": settings.messages})
        measured = ping_pong.check(result, played)
        figures = {**measured.figures, "first_us": measured.samples["round_trip_us"][0]}
        return Measurement(figures, measured.samples)

    def reported(self, served: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            report = json.loads(served.get("report", ""))
        except ValueError as error:
            raise BadResult(f"the client's report, as the partner has it, is not JSON: {error}") from None
        if not isinstance(report, dict):
            raise BadResult("the client's report, as the partner has it, is not a JSON object")
        return report

    def check_room(self, family: str, settings: Settings) -> None:
        if family == "native" and settings.messages > MOST_REPORTED:
            raise ValueError(f"messages is {settings.messages}: the partner has room for a report of {MOST_REPORTED}")
        ping_pong = workload("ping_pong")
        ping_pong.check_room(family, ping_pong.settings_type.model_validate({"messages": settings.messages}))

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.messages]


WORKLOAD = TwoBoardsWorkload()
