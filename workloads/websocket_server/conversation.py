"""The PC's side of a WebSocket that it opens: each message goes after the echo of the one before.

h11 opens it, and wsproto reads the board's frames. The PC's own frames are written here: wsproto masks each with random
bytes, and a row is to repeat itself byte by byte.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final

import h11
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.frame_protocol import Opcode, XorMaskerSimple
from wsproto.utilities import ProtocolError, generate_accept_token

from portbench.workloads.conversation import Conversation, ConversationError
from portbench.workloads.websocket.conversation import Whole

_MASK: Final = bytes(range(1, 5))
_KEY: Final = b64encode(bytes(range(1, 17)))
_REQUEST: Final = h11.Request(
    method="GET",
    target="/",
    headers=[
        ("Host", "board"),
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", _KEY.decode()),
        ("Sec-WebSocket-Version", "13"),
    ],
)


def masked(opcode: Opcode, payload: bytes) -> bytes:
    """A client's whole frame (RFC 6455, section 5.2), of 65 535 bytes at most."""
    count = len(payload)
    length = bytes([count]) if count < 126 else b"\x7e" + count.to_bytes(2, "big")
    head = bytes([0x80 | opcode, 0x80 | length[0]]) + length[1:]
    return head + _MASK + XorMaskerSimple(_MASK).process(bytearray(payload))


class Sends(Conversation):
    """An exchange is a message and its echo; once all are back, the PC says so by a close frame."""

    def __init__(self, messages: Sequence[str | bytes]) -> None:
        self._messages = messages
        self._http = h11.Connection(h11.CLIENT)
        self._connection: Connection | None = None
        self._whole = Whole()

    def opened(self) -> bytes:
        return self._http.send(_REQUEST) or b""

    def receive(self, data: bytes) -> bytes:
        answer = b""
        try:
            if self._connection is None:
                self._http.receive_data(data)
                answer += self._upgraded()
            else:
                self._connection.receive_data(data)
            if self._connection is not None:
                for event in self._connection.events():
                    answer += self._answer(event)
        except (ProtocolError, h11.RemoteProtocolError) as error:
            raise ConversationError(f"after {self.exchanges} echoes the board broke the protocol: {error}") from None
        return answer

    def eof(self) -> None:
        raise ConversationError(f"the board closed after {self.exchanges} of {len(self._messages)} echoes")

    def _upgraded(self) -> bytes:
        """The first message, once the board has accepted; nothing before. Raises ConversationError."""
        event = self._http.next_event()
        if isinstance(event, h11.Response):
            raise ConversationError(f"the board refused the WebSocket with status {event.status_code}")
        if not isinstance(event, h11.InformationalResponse):
            return b""
        accepted = dict(event.headers).get(b"sec-websocket-accept")
        if accepted != generate_accept_token(_KEY):
            raise ConversationError(f"the board accepted the WebSocket with {accepted!r}, which does not fit the key")
        self._connection = Connection(ConnectionType.CLIENT, trailing_data=self._http.trailing_data[0])
        return self._next()

    def _answer(self, event: Event) -> bytes:
        match event:
            case TextMessage() | BytesMessage():
                return self._echoed(event)
            case Ping():
                return masked(Opcode.PONG, bytes(event.payload))
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

    def _next(self) -> bytes:
        if self.exchanges == len(self._messages):
            self.finished = True
            return masked(Opcode.CLOSE, (1000).to_bytes(2, "big"))
        message = self._messages[self.exchanges]
        if isinstance(message, str):
            return masked(Opcode.TEXT, message.encode())
        return masked(Opcode.BINARY, message)
