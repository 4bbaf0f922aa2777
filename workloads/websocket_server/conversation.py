"""The PC's side of a WebSocket that it opens, by wsproto: each message goes after the echo of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

from wsproto import ConnectionType, WSConnection, frame_protocol, utilities
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from portbench.workloads.conversation import Conversation, ConversationError
from portbench.workloads.websocket.conversation import Whole


class _SameKeys:
    """In the place of wsproto's `os`: keys of frames and handshakes are no secret here, and a row repeats itself."""

    @staticmethod
    def urandom(count: int) -> bytes:
        return bytes(range(1, count + 1))


class Sends(Conversation):
    """An exchange is a message and its echo; once all are back, the PC says so by a close frame."""

    def __init__(self, messages: Sequence[str | bytes]) -> None:
        self._messages = messages
        self._connection = WSConnection(ConnectionType.CLIENT)
        self._whole = Whole()

    def opened(self) -> bytes:
        return self._said(Request(host="board", target="/"))

    def receive(self, data: bytes) -> bytes:
        answer = b""
        try:
            self._connection.receive_data(data)
            for event in self._connection.events():
                answer += self._answer(event)
        except ProtocolError as error:
            raise ConversationError(f"after {self.exchanges} echoes the board broke the protocol: {error}") from None
        return answer

    def eof(self) -> None:
        raise ConversationError(f"the board closed after {self.exchanges} of {len(self._messages)} echoes")

    def _answer(self, event: Event) -> bytes:
        match event:
            case AcceptConnection():
                return self._next()
            case TextMessage() | BytesMessage():
                return self._echoed(event)
            case Ping() as ping:
                return self._said(ping.response())
            case RejectConnection() as reject:
                raise ConversationError(f"the board refused the WebSocket with status {reject.status_code}")
            case CloseConnection():
                raise ConversationError(f"the board said close after {self.exchanges} of {len(self._messages)} echoes")
            case _:
                return b""

    def _echoed(self, part: TextMessage | BytesMessage) -> bytes:
        whole = self._whole.add(part)
        if whole is None:
            return b""
        if whole.data != self._messages[self.exchanges]:
            raise ConversationError(f"echo {self.exchanges + 1} has {len(whole.data)} other bytes than its message")
        self.exchanges += 1
        return self._next()

    def _said(self, event: Event) -> bytes:
        with patch.object(frame_protocol, "os", _SameKeys), patch.object(utilities, "os", _SameKeys):
            return self._connection.send(event)

    def _next(self) -> bytes:
        if self.exchanges == len(self._messages):
            self.finished = True
            return self._said(CloseConnection(code=1000))
        message = self._messages[self.exchanges]
        return self._said(TextMessage(message) if isinstance(message, str) else BytesMessage(message))
