"""The rate of small messages between a port and a TCP server, and the time of each."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    ForeignClient,
    Measurement,
    Metric,
    Native,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import (
    FIRST_BYTE,
    MAX_REPORT_BYTES,
    ConversationError,
    ReportedConversation,
    shown,
)


class PingPong(ReportedConversation):
    """The PC's side: each side answers the received number plus one, in decimal ASCII. See the README.

    Because both sides know the next value, the answers do not depend on how TCP cuts the stream: a number in two
    segments waits for its rest, two numbers in one segment get two answers.
    """

    def __init__(self, max_report_bytes: int = MAX_REPORT_BYTES) -> None:
        super().__init__(max_report_bytes)
        self._expected = b"1"
        self._pending = b""  # a proper prefix of the expected number
        self._reports = False
        self._fault: str | None = None

    def receive(self, data: bytes) -> bytes:
        self._check_usable()
        if data == self._expected and not self._pending and not self._reports:
            return self._answer()
        answers: list[bytes] = []
        try:
            self._take(data, answers)
        except ConversationError as error:
            self._fault = str(error)
            raise ConversationError(self._fault, b"".join(answers)) from error
        return b"".join(answers)

    def eof(self) -> None:
        self._check_usable()
        self._fault = "the session has ended"
        try:
            super().eof()
            if self._pending:
                raise ConversationError(
                    f"the client closed within message {self.exchanges + 1}, after {shown(self._pending)}"
                )
            if not self.exchanges:
                raise ConversationError("the client closed without a message")
        except ConversationError as error:
            self._fault = str(error)
            raise

    def _take(self, data: bytes, answers: list[bytes]) -> None:
        rest, self._pending = self._pending + data, b""
        while rest:
            self._reports = self._reports or (rest[0] == FIRST_BYTE and self.exchanges > 0)
            if self._reports:
                self.receive_report(rest, "its report")
                return
            if rest.startswith(self._expected):
                rest = rest[len(self._expected) :]
                answers.append(self._answer())
            elif self._expected.startswith(rest):
                self._pending = rest
                return
            else:
                expected = self._expected.decode()
                raise ConversationError(f"message {self.exchanges + 1} must be {expected}, not {shown(rest)}")

    def _answer(self) -> bytes:
        self.exchanges += 1
        answer = b"%d" % (2 * self.exchanges)
        self._expected = b"%d" % (2 * self.exchanges + 1)
        return answer

    def _check_usable(self) -> None:
        if self._fault is not None:
            raise ConversationError(self._fault)


MAX_MESSAGES = {"native": 50_000, "wiznet": 12_000, "micropython": 8_000, "circuitpython": 2_000}
"""By the client's family: a device keeps every round trip in memory, and Python also keeps the line with all of them.

On the emulated board 9000 messages with micropython-1.26.0 and 1.28.0, 14 000 with wiznet-hardwired and 2500 with
circuitpython-9.1.4 end without memory for the result line.
"""


class Settings(WorkloadSettings):
    messages: int = Field(1000, ge=1, le=1_000_000, description="messages of one run")


class Result(WorkloadResult):
    """A client's result: times in microseconds on the client's clock."""

    messages: Annotated[int, Field(ge=1)]
    total_us: Annotated[int, Field(ge=1, le=1 << 62)]
    """From just before the first send to just after the last answer."""
    round_trip_us: list[Annotated[int, Field(ge=0)]]
    """One entry per message, in order."""


class PingPongWorkload(ForeignClient, Native):
    name = "ping_pong"
    title = "Ping-pong"
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
    quick_settings: ClassVar = {"messages": 20}
    by_default = True
    drifting = "round_trip_us"
    exchange = "message"

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
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
        return PingPong(max_bytes)

    def ideal_client(self, exchanges: int) -> Iterable[tuple[bytes, bytes]]:
        return ((b"%d" % number, b"%d" % (number + 1)) for number in range(1, 2 * exchanges, 2))

    def check_room(self, family: str, settings: Settings) -> None:
        most = MAX_MESSAGES.get(family)
        if family == "foreign" and settings.messages < 2:
            raise ValueError(f"messages is {settings.messages}: the PC times from one to the next; use 2 or more")
        if most is not None and settings.messages > most:
            raise ValueError(f"messages is {settings.messages}: a board with {family} has room for {most} round trips")

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.messages]


WORKLOAD = PingPongWorkload()
