"""The board as WebSocket server: the PC sends text and binary messages of some sizes, and times the echoes."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Called,
    Column,
    LoadGenerator,
    Measurement,
    Metric,
    Session,
    Timed,
    WorkloadResult,
)
from portbench.workloads.websocket.workload import Settings
from portbench.workloads.websocket_server.conversation import Sends


class Result(WorkloadResult):
    echoed: Annotated[int, Field(ge=0)]
    """Messages that the board sent back."""


def messages(settings: Settings) -> list[str | bytes]:
    """All messages, in the order of `Settings.series`."""
    every: list[str | bytes] = []
    for name in settings.series:
        kind, _, size = name.rpartition("_")
        every += [b"w" * int(size) if kind == "binary" else "w" * int(size)] * settings.messages
    return every


class WebsocketServerWorkload(Called):
    name = "websocket_server"
    title = "WebSocket, the board as server"
    headline = Metric("echoes_per_s", "echoes/s")
    reading = (
        "an *echo* is a message that the PC sends and the board sends back, timed on the PC from one arrival to the"
        " next. *echoes/s* is of binary messages of the first size; *slowest* is of the series with the lowest rate;"
        " *open ms* is the handshake, from the PC's request to the first echo."
    )
    columns = (
        Column("round trip us", "round_trip_us", "median"),
        Column("p99 us", "round_trip_us", "p99"),
        Column("slowest/s", "slowest_per_s"),
        Column("open ms", "open_us", scale=0.001),
    )
    settings_type = Settings
    quick_settings: ClassVar = {"messages": 2}
    boards_only = True
    exchange = "message"

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        if family in ("circuitpython", "blinka"):
            return ("adafruit-circuitpython-httpserver",)
        return tuple(f"microdot/{file}" for file in ("__init__", "helpers", "microdot", "websocket"))

    def exchanges(self, settings: Settings) -> int:
        return len(settings.series) * settings.messages

    def load_generator(self, settings: Settings, max_bytes: int) -> LoadGenerator:
        return LoadGenerator(lambda: Sends(messages(settings)), 1)

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        received = _received(sessions)
        due = self.exchanges(settings)
        if said.echoed != due or len(received) != due:
            raise BadResult(f"the board sent {said.echoed} echoes and the PC has {len(received)}, not {due}")
        asked_us = next(each.asked_us for each in sessions if each.received_us)
        assert asked_us is not None  # the PC speaks first
        trips = [after - before for before, after in pairwise([asked_us, *received])]
        series = {
            name: trips[at * settings.messages : (at + 1) * settings.messages]
            for at, name in enumerate(settings.series)
        }
        open_us, first = trips[0], series[settings.series[0]]
        del first[0]  # it has the handshake in it
        rates = {f"{name}_per_s": len(times) * 1e6 / sum(times) for name, times in series.items()}
        figures = {
            "echoes_per_s": rates[f"{settings.series[0]}_per_s"],
            "slowest_per_s": min(rates.values()),
            "open_us": open_us,
            **rates,
        }
        return Measurement(figures, {"round_trip_us": first})

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        received = _received(sessions)
        # No "message": explain takes that for one that the board sends, and the PC answers.
        return [
            Timed("round trip", after - before, exchange=number, start_us=before)
            for number, (before, after) in enumerate(pairwise(received), 1)
        ]

    def check_room(self, family: str, settings: Settings) -> None:
        if settings.messages < 2:
            raise ValueError(f"messages is {settings.messages}: the PC times from one echo to the next; use 2 or more")


def _received(sessions: Sequence[Session]) -> list[float]:
    return next((each.received_us for each in sessions if each.received_us), [])


WORKLOAD = WebsocketServerWorkload()
