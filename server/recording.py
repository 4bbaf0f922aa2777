"""A conversation and its record; the driver supplies bytes and times."""

from typing import Any

from portbench.server.tls.channel import Channel
from portbench.server.tls.peer import TlsFault
from portbench.workloads import Conversation, ConversationError, Ping, Session


class Recording:
    """The record of one conversation. Times are microseconds of the driver's clock."""

    def __init__(
        self,
        number: int,
        peer: str,
        started_us: float,
        conversation: Conversation,
        limit: int | None = None,
        channel: Channel | None = None,
    ) -> None:
        """`limit`: the number of exchanges of a run that only the PC can end. `channel`: decrypts the connection."""
        self.number = number
        self.peer = peer
        self.started_us = started_us
        self.error: str | None = None
        self.received_bytes = 0
        self.attempts = 1
        self.established_us: float | None = None
        self.last_byte_us: float | None = None
        self.conversation = conversation
        self._limit = limit
        self._channel = channel
        self._ended_us: float | None = None
        self._asked_us: float | None = None
        self._first_byte_us: float | None = None
        self._received_us: list[float] = []
        self._sent_us: list[float] = []
        self._arrivals = 0
        self._pings: list[Ping] = []
        self._delivered_us: list[float] = []
        self.announced_us: float | None = None
        """When the client announced its port."""
        self.pings_asked_us: float | None = None
        """When the conversation asked for pings."""

    @property
    def exchanges(self) -> int:
        return self.conversation.exchanges

    @property
    def reported(self) -> bool:
        """The client has sent its report."""
        return self.conversation.report is not None

    @property
    def finished(self) -> bool:
        """The PC should close after the answer of `receive`."""
        # One more than the run has: a client that counts its exchanges closes by itself.
        beyond = self._limit is not None and self.exchanges > self._limit
        return beyond or self.conversation.finished

    @property
    def whole(self) -> bool:
        """All exchanges of a limited run have come, and their connection has ended if the PC closes it."""
        all_came = self._limit is not None and self.exchanges >= self._limit
        return all_came and (self._ended_us is not None or not self.conversation.finished)

    def established(self, now_us: float, *, handover_us: float = 0.0) -> bytes:
        """Note the end of the handshake. Returns the first bytes to send, handed over `handover_us` later."""
        self.established_us = now_us
        said = self.conversation.opened()
        if self._channel is not None:
            said = self._channel.opened(said, now_us)
        if said:
            self._asked_us = now_us + handover_us
        return said

    def receive(self, data: bytes, now_us: float) -> bytes:
        """The answer to the received bytes. Sets `error` if they are wrong."""
        self.received_bytes += len(data)
        if self._first_byte_us is None:
            self._first_byte_us = now_us
        self.last_byte_us = now_us
        before = self.exchanges
        answer = self._decrypted(data, now_us) if self._channel is not None else self._answer(data)
        if self.announced_us is None and self.conversation.listening is not None:
            self.announced_us = now_us
        if self.pings_asked_us is None and self.conversation.pings is not None:
            self.pings_asked_us = now_us
        self._came(self.exchanges - before, now_us)
        return answer

    def _answer(self, data: bytes) -> bytes:
        try:
            return self.conversation.receive(data)
        except ConversationError as fault:
            self.error = str(fault)
            return fault.answer

    def _decrypted(self, data: bytes, now_us: float) -> bytes:
        assert self._channel is not None
        try:
            plaintext, answer = self._channel.receive(data, now_us)
        except TlsFault as fault:
            self.error = f"TLS: {fault}"
            return fault.answer
        if plaintext:
            answer += self._channel.send(self._answer(plaintext))
        return answer + (self._channel.close() if self.finished or self.error is not None else b"")

    def pinged(self, pings: list[Ping]) -> bytes:
        """Note the results of all pings. Returns the bytes to send then."""
        self._pings = pings
        return self.encrypted(self.conversation.pinged())

    def encrypted(self, data: bytes) -> bytes:
        """The bytes to send for `data` of the conversation; itself on a plain connection."""
        return data if self._channel is None else self._channel.send(data)

    def delivered(self, now_us: float) -> None:
        """Note that the PC sent by itself."""
        self._delivered_us.append(now_us)

    def sent(self, now_us: float) -> None:
        """Note that the answer was handed over."""
        self._sent_us += [now_us] * (len(self._received_us) - len(self._sent_us))

    def eof(self, now_us: float) -> None:
        """Note that the board has closed; this may complete an exchange."""
        before = self.exchanges
        try:
            self.conversation.eof()
        except ConversationError as fault:
            self.error = str(fault)
        self._came(self.exchanges - before, now_us)

    def _came(self, exchanges: int, now_us: float) -> None:
        if exchanges:
            self._received_us += [now_us] * exchanges
            self._arrivals += 1

    def lost(self, reason: str) -> None:
        """Note that the connection broke."""
        self.conversation.lost()
        if not self.reported:
            self.error = f"connection lost after {self.exchanges} exchanges ({reason})"

    def ended(self, now_us: float) -> None:
        """Note the end of the connection."""
        self._ended_us = now_us

    def session(self) -> Session:
        """The record so far."""
        return Session(
            number=self.number,
            peer=self.peer,
            started_us=self.started_us,
            ended_us=self._ended_us,
            exchanges=self.exchanges,
            received_bytes=self.received_bytes,
            error=self.error,
            report=self.conversation.report,
            received_us=list(self._received_us),
            sent_us=list(self._sent_us),
            arrivals=self._arrivals,
            attempts=self.attempts,
            established_us=self.established_us,
            asked_us=self._asked_us,
            first_byte_us=self._first_byte_us,
            last_byte_us=self.last_byte_us,
            listening=self.conversation.listening,
            delivered_us=list(self._delivered_us),
            ping_bytes=[ping.data_bytes for ping in self._pings],
            ping_round_trip_us=[ping.round_trip_us for ping in self._pings],
            **self._tls(),
        )

    def _tls(self) -> dict[str, Any]:
        """The fields of a session with TLS."""
        channel = self._channel
        if channel is None or (tls := channel.tls) is None:
            return {}
        return {
            "tls": {
                "version": tls.version,
                "cipher_suite": tls.cipher_suite,
                "server_name": tls.server_name,
                "resumed": tls.resumed,
                "board_bytes": channel.handshake_bytes["board"],
                "pc_bytes": channel.handshake_bytes["pc"],
                "messages": [list(each) for each in channel.messages],
            }
        }
