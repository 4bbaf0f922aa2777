"""The PC's side of a WebSocket, by wsproto: it accepts the handshake and sends each message back."""

from typing import Final

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from portbench.workloads.conversation import Conversation, ConversationError

MAX_MESSAGE_BYTES: Final = 64 << 10


class Whole:
    """Puts messages together that came in several parts."""

    def __init__(self) -> None:
        self._parts: list[str | bytes | bytearray] = []
        self._bytes = 0

    def add(self, part: TextMessage | BytesMessage) -> TextMessage | BytesMessage | None:
        """The whole message, after its last part. Raises ConversationError for one that is too long."""
        self._parts.append(part.data)
        self._bytes += len(part.data)
        if self._bytes > MAX_MESSAGE_BYTES:
            raise ConversationError(f"a message is longer than {MAX_MESSAGE_BYTES} bytes")
        if not part.message_finished:
            return None
        parts, self._parts, self._bytes = self._parts, [], 0
        if isinstance(part, TextMessage):
            return TextMessage("".join(each for each in parts if isinstance(each, str)))
        return BytesMessage(b"".join(each for each in parts if not isinstance(each, str)))


class Echoes(Conversation):
    """An exchange is a message and its echo."""

    def __init__(self) -> None:
        self._connection = WSConnection(ConnectionType.SERVER)
        self._whole = Whole()
        self._begun = False

    def receive(self, data: bytes) -> bytes:
        self._begun = True
        answers: list[bytes] = []
        try:
            self._connection.receive_data(data)
            for event in self._connection.events():
                if (answer := self._answer(event)) is not None:
                    answers.append(self._connection.send(answer))
        except (ProtocolError, ConversationError) as error:
            text = f"after {self.exchanges} messages the board broke the protocol: {error}"
            raise ConversationError(text, b"".join(answers)) from None
        return b"".join(answers)

    def eof(self) -> None:
        if self._begun and not self.finished:
            raise ConversationError(f"the board closed without a close frame, after {self.exchanges} messages")

    def _answer(self, event: Event) -> Event | None:
        match event:
            case Request():
                return AcceptConnection()
            case Ping() as ping:
                return ping.response()
            case CloseConnection() as close:
                self.finished = True
                return close.response()
            case TextMessage() | BytesMessage():
                whole = self._whole.add(event)
                self.exchanges += whole is not None
                return whole
            case _:
                return None
