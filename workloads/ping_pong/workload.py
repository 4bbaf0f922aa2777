"""The rate of small messages between a port and a TCP server, and the time of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
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
from portbench.workloads.ping_pong.conversation import PingPong

MAX_MESSAGES = {"native": 50_000, "wiznet": 12_000, "micropython": 8_000, "circuitpython": 2_000}
"""By the client's family: a device keeps every round trip in memory, and Python also keeps the line with all of them.

On the emulated board 9000 messages with micropython-1.26.0 and 1.28.0, 14 000 with wiznet-hardwired and 2500 with
circuitpython-9.1.4 end without memory for the result line.
"""


class Settings(WorkloadSettings):
    messages: int = Field(1000, ge=1, le=1_000_000, description="messages of one run")


class Result(BaseModel):
    """A client's result: times in microseconds on the client's clock."""

    model_config = ConfigDict(strict=True)

    messages: Annotated[int, Field(ge=1)]
    total_us: Annotated[int, Field(ge=1, le=1 << 62)]
    """From just before the first send to just after the last answer."""
    round_trip_us: list[Annotated[int, Field(ge=0)]]
    """One entry per message, in order."""


class PingPongWorkload(Workload):
    name = "ping_pong"
    title = "Ping-pong"
    readiness = Readiness.CONNECTED
    headline = Metric("messages_per_s", "messages/s")
    reading = (
        "a *message* is one number sent by the client plus its answer. *messages/s* is messages divided by total time,"
        " *round trip us* and *p99 us* are the median and the 99th percentile over all messages of all runs."
    )
    columns = (
        Column("round trip us", "round_trip_us", "median"),
        Column("p99 us", "round_trip_us", "p99"),
    )
    settings_type = Settings
    by_default = True
    drifting = "round_trip_us"
    timed_by_pc = True
    exchange = "message"

    def quick(self) -> Settings:
        return Settings(messages=20)

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = read_result(Result, result)
        if said.messages != settings.messages:
            raise BadResult(f"the client measured {said.messages} messages, not {settings.messages}")
        if len(said.round_trip_us) != said.messages:
            raise BadResult(f"the client reports {len(said.round_trip_us)} round trips for {said.messages} messages")
        if (summed := sum(said.round_trip_us)) > said.total_us:
            raise BadResult(f"the client's round trips add up to {summed} us, more than its total {said.total_us} us")
        figures = self.derive({"total_us": said.total_us}, settings)
        return Measurement(figures, {"round_trip_us": list(said.round_trip_us)})

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        return [Timed("message", us, exchange=number) for number, us in enumerate(result["round_trip_us"])]

    def measure_session(self, session: Session, settings: Settings) -> Measurement:
        """Measure from one message to the next at the PC: there is one round trip less than messages."""
        if session.pipelined:
            raise BadResult(f"the client sent {session.pipelined} messages without waiting for the answer before")
        received = session.received_us[: settings.messages]
        trips = [after - before for before, after in pairwise(received)]
        total_us = received[-1] - received[0]
        return Measurement(
            {"total_us": total_us, "messages_per_s": len(trips) * 1e6 / total_us}, {"round_trip_us": trips}
        )

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        return {**figures, "messages_per_s": settings.messages * 1e6 / figures["total_us"]}

    def exchanges(self, settings: Settings) -> int:
        return settings.messages

    def conversation(self, max_bytes: int) -> PingPong:
        return PingPong(max_report_bytes=max_bytes)

    def ideal_client(self, exchanges: int) -> Iterable[tuple[bytes, bytes]]:
        return ((b"%d" % number, b"%d" % (number + 1)) for number in range(1, 2 * exchanges, 2))

    def check_room(self, family: str, settings: Settings) -> None:
        most = MAX_MESSAGES.get(family)
        if family == "foreign" and settings.messages < 2:
            raise ValueError(f"messages is {settings.messages}: the PC times from one to the next; use 2 or more")
        if most is not None and settings.messages > most:
            raise ValueError(f"messages is {settings.messages}: a board with {family} has room for {most} round trips")

    def native_count(self, settings: Settings) -> int:
        return settings.messages


WORKLOAD = PingPongWorkload()
