"""The rate of messages between the PC and the board as server, and the time of each."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Called,
    Column,
    Conversation,
    ConversationError,
    LoadGenerator,
    Measurement,
    Metric,
    Native,
    Session,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import shown


class Settings(WorkloadSettings):
    messages: int = Field(default=1000, ge=2, le=50_000, description="numbers that the PC sends, each with an answer")


class Result(WorkloadResult):
    answered: int
    """Messages that the board has answered."""


class Asks(Conversation):
    """The PC says 1, and then each received number plus one; it closes after `messages` answers."""

    def __init__(self, messages: int) -> None:
        self._messages = messages
        self._came = b""

    def opened(self) -> bytes:
        return b"1"

    def receive(self, data: bytes) -> bytes:
        expected = b"%d" % (2 * self.exchanges + 2)
        self._came += data
        if not expected.startswith(self._came):
            raise ConversationError(f"answer {self.exchanges + 1} must be {expected.decode()}, not {shown(self._came)}")
        if self._came != expected:
            return b""
        self._came = b""
        self.exchanges += 1
        self.finished = self.exchanges == self._messages
        return b"" if self.finished else b"%d" % (2 * self.exchanges + 1)

    def eof(self) -> None:
        if not self.finished:
            raise ConversationError(f"the board closed after {self.exchanges} of {self._messages} messages")


class ServerWorkload(Called, Native):
    name = "server"
    title = "Board as server"
    headline = Metric("messages_per_s", "messages/s")
    reading = (
        "the board is the server. A *message* is a number of the PC's and the board's answer, timed from one answer's"
        " arrival at the PC to the next, with the PC's turnaround. *first ms* is the time of the first message, which"
        " does not count; *connect ms* is the time of the handshake."
    )
    columns = (
        Column("message us", "message_us", "median"),
        Column("p99 us", "message_us", "p99"),
        Column("first ms", "first_us", scale=0.001),
        Column("connect ms", "connect_us", scale=0.001),
    )
    settings_type = Settings
    quick_settings: ClassVar = {"messages": 20}
    drifting = "message_us"
    exchange = "message"

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        if said.answered != settings.messages:
            raise BadResult(f"the client answered {said.answered} messages, not {settings.messages}")
        if len(sessions) != 1:
            raise BadResult(f"the PC had {len(sessions)} connections to the board, not 1")
        (session,) = sessions
        received_us = session.received_us
        if len(received_us) != settings.messages or session.established_us is None or session.asked_us is None:
            raise BadResult(f"the PC got {len(received_us)} answers, not {settings.messages}")
        figures = {
            "total_us": received_us[-1] - received_us[0],
            "first_us": received_us[0] - session.asked_us,
            "connect_us": session.established_us - session.started_us,
            "refused_attempts": float(session.attempts - 1),
        }
        trips = [later - earlier for earlier, later in pairwise(received_us)]
        return Measurement(self.derive(figures, settings), {"message_us": trips})

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        return {**figures, "messages_per_s": (settings.messages - 1) * 1e6 / figures["total_us"]}

    def exchanges(self, settings: Settings) -> int:
        return settings.messages

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.messages]

    def load_generator(self, settings: Settings, max_bytes: int) -> LoadGenerator:
        return LoadGenerator(lambda: Asks(settings.messages), 1)


WORKLOAD = ServerWorkload()
