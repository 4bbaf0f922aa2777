"""A broker of MQTT 3.1.1 without I/O: all of QoS 0 and 1, and the receiving half of QoS 2.

Subscriptions are granted QoS 1 at most (3.9.3 allows that). A persistent session keeps its subscriptions and its
messages of QoS 1 while its client is away. All that it keeps is bounded; beyond, the oldest is dropped, or the client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from portbench.workloads.conversation import Conversation
from portbench.workloads.mqtt.packets import (
    Connect,
    MalformedPacket,
    Message,
    Packet,
    PacketKind,
    Stream,
    matches,
    read_connect,
    read_id,
    read_publish,
    read_subscribe,
    write_publish,
    written,
)

MOST_SESSIONS: Final = 64
MOST_FILTERS: Final = 32
"""Limit of filters of one session."""
MOST_WAITING: Final = 64
"""Messages of QoS 1 that one session waits to have acknowledged, or keeps."""
MOST_RETAINED: Final = 64
MAX_PACKET_BYTES: Final = 16 << 10

_ACCEPTED, _WRONG_LEVEL, _WRONG_ID, _UNAVAILABLE = range(4)
_REFUSED_FILTER: Final = 0x80


@dataclass
class ClientSession:
    """A client's state in the broker, from CONNECT on; a persistent one outlives its connection."""

    client_id: bytes
    clean: bool
    link: BrokerLink | None = None
    filters: dict[bytes, int] = field(default_factory=dict)
    """With the granted QoS."""
    waiting: dict[int, Message] = field(default_factory=dict)
    """Sent with QoS 1, or kept, and not acknowledged, by packet identifier."""
    received: set[int] = field(default_factory=set)
    """Packet identifiers of QoS 2 that the client has not released."""
    last_id: int = 0

    def next_id(self) -> int:
        self.last_id = self.last_id % 0xFFFF + 1
        while self.last_id in self.waiting:
            self.last_id = self.last_id % 0xFFFF + 1
        return self.last_id


Heard = Callable[["BrokerLink", Message], None]


class Broker:
    """The sessions and the retained messages. `heard` is called with every message that a client publishes."""

    def __init__(self, heard: Heard | None = None) -> None:
        self._heard = heard
        self._sessions: dict[bytes, ClientSession] = {}
        self._retained: dict[bytes, Message] = {}
        self._nameless = 0

    def open(self, link: BrokerLink, asked: Connect) -> tuple[ClientSession | None, bytes]:
        """The session of a client that connects, and CONNACK; without a session the connection is to be closed."""
        if asked.level != 4:
            return None, _connack(_WRONG_LEVEL)
        client_id = asked.client_id
        if not client_id:
            if not asked.clean:
                return None, _connack(_WRONG_ID)
            self._nameless += 1
            client_id = b"nameless-%d" % self._nameless
        before = self._sessions.get(client_id)
        if before is not None and before.link is not None:  # 3.1.4: another connection takes the client over
            before.link.drop()
        kept = None if asked.clean or before is None or before.clean else before
        if kept is None:
            self._sessions.pop(client_id, None)
            if not self._room():
                return None, _connack(_UNAVAILABLE)
            kept = self._sessions[client_id] = ClientSession(client_id, asked.clean)
            present = False
        else:
            present = True
        kept.link = link
        return kept, _connack(_ACCEPTED, present=present)

    def _room(self) -> bool:
        """Forget the oldest session without a client, if there are too many."""
        if len(self._sessions) < MOST_SESSIONS:
            return True
        away = next((each.client_id for each in self._sessions.values() if each.link is None), None)
        if away is not None:
            del self._sessions[away]
        return away is not None

    def close(self, session: ClientSession) -> None:
        """Note that the client's connection is over."""
        session.link = None
        if session.clean and self._sessions.get(session.client_id) is session:
            del self._sessions[session.client_id]

    def publish(self, by: BrokerLink | None, message: Message) -> bytes:
        """Hand a client's message, or the PC's own, to all that subscribe to it; returns what `by` is to be sent."""
        if message.retain:
            self._retain(message)
        own = b""
        for session in list(self._sessions.values()):
            granted = [qos for each, qos in session.filters.items() if matches(message.topic, each)]
            if not granted:
                continue
            said = self.deliver(session, Message(message.topic, message.payload, min(message.qos, max(granted))))
            if session.link is by and by is not None:
                own += said
            elif session.link is not None and said:
                session.link.push(said)
        if self._heard is not None and by is not None:
            self._heard(by, message)
        return own

    def deliver(self, session: ClientSession, message: Message) -> bytes:
        """The bytes that bring `message` to the client of `session`; none while that is away."""
        if message.qos == 0:
            return b"" if session.link is None else write_publish(message)
        if len(session.waiting) >= MOST_WAITING:
            del session.waiting[next(iter(session.waiting))]
        packet_id = session.next_id()
        session.waiting[packet_id] = message
        return b"" if session.link is None else write_publish(message, packet_id)

    def retained(self, by: bytes) -> list[Message]:
        """The retained messages that the filter `by` takes."""
        return [message for message in self._retained.values() if matches(message.topic, by)]

    def _retain(self, message: Message) -> None:
        self._retained.pop(message.topic, None)
        if not message.payload:
            return
        if len(self._retained) >= MOST_RETAINED:
            del self._retained[next(iter(self._retained))]
        self._retained[message.topic] = message


def _connack(code: int, *, present: bool = False) -> bytes:
    return written(PacketKind.CONNACK, bytes([present, code]))


class BrokerLink(Conversation):
    """A client's connection to the broker. An exchange is a message that the client publishes.

    A client that breaks the protocol is disconnected (4.8); that is not a fault of the run, and `broken` says why.
    """

    def __init__(self, broker: Broker, max_bytes: int = MAX_PACKET_BYTES) -> None:
        self._broker = broker
        self._stream = Stream(min(max_bytes, MAX_PACKET_BYTES))
        self._session: ClientSession | None = None
        self._will: Message | None = None
        self.broken: str | None = None
        self._over = False

    def receive(self, data: bytes) -> bytes:
        said = bytearray()
        try:
            for packet in self._stream.feed(data):
                said += self._answer(packet)
                if self._over or self.network_fault is not None:
                    break
        except MalformedPacket as error:
            self.broken = str(error)
            self._leave(wills=True)
        return bytes(said)

    def eof(self) -> None:
        """Accept the end at any time: a client may lose its power."""
        self.lost()

    def lost(self) -> None:
        self._leave(wills=True)

    def drop(self) -> None:
        """Close the connection from the broker's side."""
        self._leave(wills=True)
        if self.line is not None:
            self.line.close()

    def push(self, data: bytes) -> None:
        """Send the client what another client caused."""
        if self.line is not None:
            self.line.send(data, 0.0)

    def tell(self, message: Message, after_us: float) -> None:
        """Send the client a message of the PC's own, if it subscribes to the topic."""
        session = self._session
        if session is not None and self.line is not None and any(matches(message.topic, f) for f in session.filters):
            self.line.send(self._broker.deliver(session, message), after_us)

    def _leave(self, *, wills: bool) -> None:
        self.finished = self._over = True
        session, will = self._session, self._will
        self._session = self._will = None
        if session is not None and session.link is self:
            self._broker.close(session)
        if wills and will is not None:
            self._broker.publish(self, will)

    def _answer(self, packet: Packet) -> bytes:
        if self._session is None:
            if packet.kind is not PacketKind.CONNECT:
                raise MalformedPacket(f"the first packet is {packet.kind.name}, not CONNECT")
            return self._connect(packet)
        handle = _HANDLERS.get(packet.kind)
        if handle is None:
            raise MalformedPacket(f"a client sends no second CONNECT, and no {packet.kind.name}")
        return handle(self, self._session, packet)

    def _connect(self, packet: Packet) -> bytes:
        asked = read_connect(packet)
        self._session, said = self._broker.open(self, asked)
        if self._session is None:
            self._leave(wills=False)
            return said
        self._will = asked.will
        if asked.keep_alive_s:
            self.silence_us = 1.5e6 * asked.keep_alive_s  # 3.1.2.10
        again = (write_publish(message, number, again=True) for number, message in self._session.waiting.items())
        return said + b"".join(again)

    def _publish(self, session: ClientSession, packet: Packet) -> bytes:
        message, packet_id = read_publish(packet)
        self.exchanges += 1
        if packet_id is None:
            return self._broker.publish(self, message)
        identifier = packet_id.to_bytes(2, "big")
        if message.qos == 1:
            return written(PacketKind.PUBACK, identifier) + self._broker.publish(self, message)
        known = packet_id in session.received
        if not known and len(session.received) >= MOST_WAITING:
            raise MalformedPacket(f"{MOST_WAITING} messages of QoS 2 wait for PUBREL already")
        session.received.add(packet_id)
        return written(PacketKind.PUBREC, identifier) + (b"" if known else self._broker.publish(self, message))

    def _release(self, session: ClientSession, packet: Packet) -> bytes:
        packet_id = read_id(packet)
        session.received.discard(packet_id)
        return written(PacketKind.PUBCOMP, packet_id.to_bytes(2, "big"))

    def _acknowledged(self, session: ClientSession, packet: Packet) -> bytes:
        session.waiting.pop(read_id(packet), None)
        return b""

    def _subscribe(self, session: ClientSession, packet: Packet) -> bytes:
        packet_id, asked = read_subscribe(packet)
        granted, retained = bytearray(), b""
        for each, qos in asked:
            if each not in session.filters and len(session.filters) >= MOST_FILTERS:
                granted.append(_REFUSED_FILTER)
                continue
            session.filters[each] = least = min(qos, 1)
            granted.append(least)
            for kept in self._broker.retained(each):
                message = Message(kept.topic, kept.payload, min(least, kept.qos), retain=True)
                retained += self._broker.deliver(session, message)
        return written(PacketKind.SUBACK, packet_id.to_bytes(2, "big") + granted) + retained

    def _unsubscribe(self, session: ClientSession, packet: Packet) -> bytes:
        packet_id, asked = read_subscribe(packet)
        for each, _ in asked:
            session.filters.pop(each, None)
        return written(PacketKind.UNSUBACK, packet_id.to_bytes(2, "big"))

    def _ping(self, session: ClientSession, packet: Packet) -> bytes:
        return written(PacketKind.PINGRESP)

    def _disconnect(self, session: ClientSession, packet: Packet) -> bytes:
        self._leave(wills=False)
        return b""


_HANDLERS: Final[dict[PacketKind, Callable[[BrokerLink, ClientSession, Packet], bytes]]] = {
    PacketKind.PUBLISH: BrokerLink._publish,
    PacketKind.PUBREL: BrokerLink._release,
    PacketKind.PUBACK: BrokerLink._acknowledged,
    PacketKind.SUBSCRIBE: BrokerLink._subscribe,
    PacketKind.UNSUBSCRIBE: BrokerLink._unsubscribe,
    PacketKind.PINGREQ: BrokerLink._ping,
    PacketKind.DISCONNECT: BrokerLink._disconnect,
}
