"""MQTT with the library that each port's users take: publishing, hearing, staying connected and coming back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Conversation,
    Measurement,
    Metric,
    Served,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.mqtt.broker import Broker, BrokerLink
from portbench.workloads.mqtt.pc import PcClient

LOOKS: Final = 5
"""Looks of the board for messages while there is none; the bodies have the same number."""
MOST_ECHOES: Final = 10
"""Limit of echoes, the same as in the bodies."""
_UMQTT: Final = ("umqtt.simple", "umqtt.robust")
_MINIMQTT: Final = (
    "adafruit-circuitpython-minimqtt",
    "adafruit-circuitpython-connectionmanager",
    "adafruit-circuitpython-ticks",
)


class Settings(WorkloadSettings):
    messages: int = Field(default=50, ge=2, le=1000, description="messages of each kind")
    payload_bytes: int = Field(default=16, ge=1, le=1024, description="bytes of a message, without its topic")
    commands: int = Field(default=8, ge=1, le=100, description="messages that the PC sends to the board")
    poll_ms: int = Field(
        default=0,
        ge=0,
        le=5000,
        description="pause between two looks for messages (umqtt); time of one (minimqtt), 0: the library's default",
    )
    keep_alive_s: int = Field(
        default=4, ge=2, le=600, description="the broker drops a client that is silent for 1.5 times as long"
    )
    idle_s: int = Field(default=10, ge=0, le=3600, description="idle time without a message")
    pings: bool = Field(
        default=True, description="the program pings while idle, as umqtt's users have to; minimqtt pings by itself"
    )
    fault: Literal["none", "close", "reset", "restart", "cable"] = Field(
        default="close",
        description="how the broker is lost: its end closes, or resets; restart: away for fault_ms; cable: out for it",
    )
    fault_ms: int = Field(default=2000, ge=1, le=60_000, description="duration of restart and cable")

    tls: bool = Field(default=False, description="over TLS, without a check of the broker's certificate")

    @property
    def echoes(self) -> int:
        return min(self.messages, MOST_ECHOES)


_Us = Annotated[int, Field(ge=0, le=1 << 40)]


class Result(WorkloadResult):
    """Microseconds on the board's clock."""

    connect_us: _Us
    """TCP's connection, CONNECT and CONNACK."""
    qos0_us: _Us
    """All messages of QoS 0, and a ping after the last, whose answer says that the broker has them."""
    qos1_us: list[_Us]
    """Until PUBACK, each."""
    echo_us: list[_Us]
    """Until the board has its own message from the broker, each."""
    look_us: list[_Us]
    """Looks for messages while there is none."""
    ping_us: _Us
    """From PINGREQ to PINGRESP."""
    kept: bool
    """The connection outlived the idle time."""
    recover_us: _Us | None
    """From the loss of the broker until a message of the board came back."""


class MqttWorkload(Served):
    name = "mqtt"
    title = "MQTT"
    headline = Metric("qos1_per_s", "QoS 1 messages/s")
    reading = (
        "*QoS 1 messages/s* is publish and PUBACK, one after the other; *QoS 0/s* counts until the broker has them all;"
        " *echo ms* is until the board has its own message back. *command ms*: the PC publishes while the board is"
        " idle and looks for messages as its library's users do; until its answer is at the PC. *look ms*: one such"
        " look that finds nothing. *back ms*: from the broker's loss until messages flow both ways again."
    )
    columns = (
        Column("QoS 0/s", "qos0_per_s"),
        Column("echo ms", "echo_us", "median", scale=0.001),
        Column("command ms", "command_us", "median", scale=0.001),
        Column("most ms", "command_us", "max", scale=0.001),
        Column("look ms", "look_us", "median", scale=0.001),
        Column("ping ms", "ping_us", scale=0.001),
        Column("kept", "kept"),
        Column("back ms", "recover_us", scale=0.001),
    )
    settings_type = Settings
    quick_settings: ClassVar = {"messages": 3, "commands": 2, "idle_s": 0}
    exchange = "message"
    patience_us = 90e6
    secured = True
    parts = ("qos0_per_s", "qos1_per_s")

    def service(self, max_bytes: int) -> Callable[[], Conversation]:
        broker = Broker(PcClient().heard)
        return lambda: BrokerLink(broker, max_bytes)

    def conversation(self, max_bytes: int) -> Conversation:
        return self.service(max_bytes)()

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        return _MINIMQTT if family in ("circuitpython", "blinka") else _UMQTT

    def exchanges(self, settings: Settings) -> int:
        return 2 * settings.messages + settings.echoes + settings.commands + 1

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        for name, count in (("qos1_us", settings.messages), ("echo_us", settings.echoes), ("look_us", LOOKS)):
            if (came := len(getattr(said, name))) != count:
                raise BadResult(f"the client reports {came} {name}, not {count}")
        if (settings.fault != "none") is not (said.recover_us is not None):
            raise BadResult(f"the client's recover_us is {said.recover_us}, with the fault {settings.fault}")
        figures = {
            "connect_us": float(said.connect_us),
            "qos0_per_s": settings.messages * 1e6 / max(1, said.qos0_us),
            "qos1_per_s": settings.messages * 1e6 / max(1, sum(said.qos1_us)),
            "ping_us": float(said.ping_us),
            "kept": float(said.kept),
        }
        if said.recover_us is not None:
            figures["recover_us"] = float(said.recover_us)
        samples: dict[str, list[float]] = {
            "qos1_us": [*said.qos1_us],
            "echo_us": [*said.echo_us],
            "look_us": [*said.look_us],
        }
        if (session := _main(sessions)) is not None:
            samples["command_us"] = _commands(session, settings)
        return Measurement(figures, samples)

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        each = (("QoS 1 message", "qos1_us"), ("echo", "echo_us"), ("look", "look_us"))
        spans = [Timed("QoS 0 messages", result["qos0_us"])]
        return spans + [Timed(name, us) for name, key in each for us in result[key]]


def _main(sessions: Sequence[Session]) -> Session | None:
    """The connection that carried the measured messages."""
    return next((each for each in sessions if each.exchanges), None)


def _commands(session: Session, settings: Settings) -> list[float]:
    """From each command's handover to the arrival of its answer, on the PC's clock. Raises BadResult."""
    first = 2 * settings.messages + settings.echoes + 1
    answers = session.received_us[first : first + settings.commands]
    if len(answers) != settings.commands or len(session.delivered_us) != settings.commands:
        raise BadResult(
            f"the PC sent {len(session.delivered_us)} commands and has {len(answers)} answers, not {settings.commands}"
        )
    return [answered - sent for sent, answered in zip(session.delivered_us, answers, strict=True)]


WORKLOAD = MqttWorkload()
