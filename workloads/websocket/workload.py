"""The board as WebSocket client: text and binary messages of some sizes, each echoed by the PC."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Served,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.settings import each_number, number_list
from portbench.workloads.websocket.conversation import Echoes

KINDS: Final = ("binary", "text")


class Settings(WorkloadSettings):
    messages: int = Field(default=20, ge=1, le=500, description="messages of each kind and size")
    sizes: Annotated[str, number_list(1, 16_384)] = Field(default="16,1024", description="bytes of a message")

    @property
    def series(self) -> list[str]:
        """The kinds and sizes in the order of sending, `messages` times each."""
        return [f"{kind}_{size}" for size in each_number(self.sizes) for kind in KINDS]


class ClientSettings(Settings):
    tls: bool = Field(default=False, description="over TLS, without a check of the certificate")


class Result(WorkloadResult):
    """Microseconds on the board's clock."""

    connect_us: Annotated[int, Field(ge=0, le=1 << 40)]
    """TCP's connection, HTTP's request and its answer."""
    round_trip_us: list[list[Annotated[int, Field(ge=0, le=1 << 40)]]]
    """From sending a message to its echo, for each of `Settings.series`."""


class WebsocketWorkload(Served):
    name = "websocket"
    title = "WebSocket, the board as client"
    headline = Metric("echoes_per_s", "echoes/s")
    reading = (
        "an *echo* is a message that the board sends and the PC sends back, timed on the board. *echoes/s* is of binary"
        " messages of the first size; *slowest* is of the series with the lowest rate; *connect ms* is TCP's connection"
        " and the handshake."
    )
    columns = (
        Column("round trip us", "round_trip_us", "median"),
        Column("p99 us", "round_trip_us", "p99"),
        Column("slowest/s", "slowest_per_s"),
        Column("connect ms", "connect_us", scale=0.001),
    )
    settings_type = ClientSettings
    quick_settings: ClassVar = {"messages": 2}
    exchange = "message"
    secured = True

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        return ("aiohttp/__init__", "aiohttp/aiohttp_ws")

    def exchanges(self, settings: Settings) -> int:
        return len(settings.series) * settings.messages

    def conversation(self, max_bytes: int) -> Echoes:
        return Echoes()

    def check(
        self, result: Mapping[str, Any], settings: ClientSettings, sessions: Sequence[Session] = ()
    ) -> Measurement:
        said = Result.read(result)
        if [len(each) for each in said.round_trip_us] != [settings.messages] * len(settings.series):
            raise BadResult(
                f"the client does not report {settings.messages} round trips of {len(settings.series)} kinds"
            )
        if settings.tls and sessions and all(session.handshake is None for session in sessions):
            raise BadResult("the board made no TLS connection")
        rates = {
            f"{name}_per_s": settings.messages * 1e6 / max(1, sum(times))
            for name, times in zip(settings.series, said.round_trip_us, strict=True)
        }
        figures = {
            "echoes_per_s": rates[f"{settings.series[0]}_per_s"],
            "slowest_per_s": min(rates.values()),
            "connect_us": float(said.connect_us),
            **rates,
        }
        return Measurement(figures, {"round_trip_us": [*said.round_trip_us[0]]})

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        every = [us for each in result["round_trip_us"] for us in each]
        return [Timed("message", us, exchange=number) for number, us in enumerate(every)]


WORKLOAD = WebsocketWorkload()
