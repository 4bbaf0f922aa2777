"""A conversation and what is kept of it; whoever has the bytes and the clock drives it."""

from __future__ import annotations

from portbench.server.records import Session
from portbench.workloads import Conversation, ConversationError


class Recording:
    """Times are microseconds of the caller's clock."""

    def __init__(self, number: int, peer: str, started_us: float, conversation: Conversation) -> None:
        self.number = number
        self.peer = peer
        self.error: str | None = None
        self.received_bytes = 0
        self._conversation = conversation
        self._started_us = started_us
        self._ended_us: float | None = None
        self._received_us: list[float] = []
        self._sent_us: list[float] = []
        self._arrivals = 0

    @property
    def exchanges(self) -> int:
        return self._conversation.exchanges

    @property
    def reported(self) -> bool:
        """The client has sent its report."""
        return self._conversation.report is not None

    def receive(self, data: bytes, now_us: float) -> bytes:
        """What to send for what came. `error` is set where that was wrong."""
        self.received_bytes += len(data)
        before = self.exchanges
        try:
            answer = self._conversation.receive(data)
        except ConversationError as fault:
            self.error = str(fault)
            answer = fault.answer
        if fresh := self.exchanges - before:
            self._received_us += [now_us] * fresh
            self._arrivals += 1
        return answer

    def sent(self, now_us: float) -> None:
        """The answer has been handed over."""
        self._sent_us += [now_us] * (len(self._received_us) - len(self._sent_us))

    def eof(self) -> None:
        """The client has closed."""
        try:
            self._conversation.eof()
        except ConversationError as fault:
            self.error = str(fault)

    def ended(self, now_us: float) -> None:
        """The connection is gone."""
        self._ended_us = now_us

    def session(self) -> Session:
        """The record as it is now."""
        return Session(
            number=self.number,
            peer=self.peer,
            started_us=self._started_us,
            ended_us=self._ended_us,
            exchanges=self.exchanges,
            received_bytes=self.received_bytes,
            error=self.error,
            report=self._conversation.report,
            received_us=list(self._received_us),
            sent_us=list(self._sent_us),
            arrivals=self._arrivals,
        )
