"""MQTT 3.1.1's control packets: cut out of a stream, read, and written. Section numbers are those of the standard."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from portbench.errors import PortbenchError

_MOST_REMAINING: Final = 268_435_455


class MalformedPacket(PortbenchError):
    """Bytes that are not a packet of a client: one line with the reason."""


class PacketKind(IntEnum):
    """2.2.1: the upper four bits of the first byte."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


_FLAGS: Final = {PacketKind.PUBREL: 2, PacketKind.SUBSCRIBE: 2, PacketKind.UNSUBSCRIBE: 2}
"""2.2.2: of all other kinds but PUBLISH they are 0."""


@dataclass(frozen=True)
class Packet:
    """A control packet, unread: `flags` are the lower four bits of its first byte, `body` all after the length."""

    kind: PacketKind
    flags: int
    body: bytes


@dataclass(frozen=True)
class Message:
    """An application message. `topic`: UTF-8; `qos`: 0 to 2."""

    topic: bytes
    payload: bytes
    qos: int = 0
    retain: bool = False


@dataclass(frozen=True)
class Connect:
    """`level`: of the protocol, 4 for 3.1.1."""

    level: int
    client_id: bytes
    clean: bool
    keep_alive_s: int
    will: Message | None


class Stream:
    """Cuts packets out of received bytes. A packet has at most `max_bytes` after its length."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._waiting = bytearray()

    def feed(self, data: bytes) -> Iterator[Packet]:
        """The packets that are complete with `data`. Raises MalformedPacket."""
        self._waiting += data
        while (head := self._head()) is not None:
            begin, end = head
            if len(self._waiting) < end:
                return
            first, body = self._waiting[0], bytes(self._waiting[begin:end])
            del self._waiting[:end]
            yield _packet(first, body)

    @property
    def pending(self) -> int:
        """Bytes of an incomplete packet."""
        return len(self._waiting)

    def _head(self) -> tuple[int, int] | None:
        """Start and end of the first packet's body; None before its length is complete."""
        length = 0
        for number, byte in enumerate(self._waiting[1:5]):
            length |= (byte & 0x7F) << 7 * number
            if not byte & 0x80:
                if length > self._max_bytes:
                    raise MalformedPacket(f"a packet of {length} bytes is longer than {self._max_bytes}")
                return 2 + number, 2 + number + length
        if len(self._waiting) >= 5:
            raise MalformedPacket("a packet's length has more than four bytes")
        return None


def _packet(first: int, body: bytes) -> Packet:
    number, flags = first >> 4, first & 15
    if number not in PacketKind._value2member_map_:
        raise MalformedPacket(f"there is no packet of type {number}")
    kind = PacketKind(number)
    if kind is not PacketKind.PUBLISH and flags != _FLAGS.get(kind, 0):
        raise MalformedPacket(f"{kind.name} has the flags {flags}, not {_FLAGS.get(kind, 0)}")
    return Packet(kind, flags, body)


class _Reader:
    def __init__(self, packet: Packet) -> None:
        self._packet = packet
        self._at = 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._packet.body):
            raise MalformedPacket(f"{self._packet.kind.name} ends within a field, after {len(self._packet.body)} bytes")
        self._at += count
        return self._packet.body[self._at - count : self._at]

    def number(self, count: int = 2) -> int:
        return int.from_bytes(self.take(count), "big")

    def data(self) -> bytes:
        return self.take(self.number())

    def text(self) -> bytes:
        """1.5.3: UTF-8 without a zero character."""
        found = self.data()
        try:
            valid = "\0" not in found.decode()
        except UnicodeDecodeError:
            valid = False
        if not valid:
            raise MalformedPacket(f"{self._packet.kind.name} has a string that is not UTF-8, or has a zero")
        return found

    def packet_id(self) -> int:
        found = self.number()
        if not found:
            raise MalformedPacket(f"{self._packet.kind.name} has the packet identifier 0")
        return found

    @property
    def left(self) -> int:
        return len(self._packet.body) - self._at

    def end(self) -> None:
        if self.left:
            raise MalformedPacket(f"{self._packet.kind.name} has {self.left} bytes too many")


def read_connect(packet: Packet) -> Connect:
    """3.1. Raises MalformedPacket."""
    reader = _Reader(packet)
    if (name := reader.data()) not in (b"MQTT", b"MQIsdp"):
        raise MalformedPacket(f"CONNECT is of the protocol {name[:16]!r}, not of MQTT")
    level, flags, keep_alive_s = reader.number(1), reader.number(1), reader.number()
    if level != 4:  # the rest may have another form; the broker refuses it by CONNACK
        return Connect(level, b"", clean=True, keep_alive_s=keep_alive_s, will=None)
    qos, retain = flags >> 3 & 3, bool(flags & 0x20)
    if flags & 1 or qos == 3 or (not flags & 4 and (qos or retain)) or (flags & 0xC0) == 0x40:
        raise MalformedPacket(f"CONNECT has the flags {flags:#04x}")
    client_id = reader.text()
    will = None
    if flags & 4:
        topic = reader.text()
        will = Message(_checked_name(topic, packet), reader.data(), qos, retain)
    if flags & 0x80:
        reader.text()
    if flags & 0x40:
        reader.data()
    reader.end()
    return Connect(level, client_id, bool(flags & 2), keep_alive_s, will)


def _checked_name(topic: bytes, packet: Packet) -> bytes:
    if not topic or b"+" in topic or b"#" in topic:
        raise MalformedPacket(f"{packet.kind.name} has the topic {topic[:24]!r}, which is empty or a filter")
    return topic


def read_publish(packet: Packet) -> tuple[Message, int | None]:
    """3.3: the message and its packet identifier, which only QoS 1 and 2 have. Raises MalformedPacket."""
    reader = _Reader(packet)
    qos = packet.flags >> 1 & 3
    if qos == 3 or (packet.flags & 8 and not qos):
        raise MalformedPacket(f"PUBLISH has the flags {packet.flags}")
    topic = _checked_name(reader.text(), packet)
    packet_id = reader.packet_id() if qos else None
    return Message(topic, reader.take(reader.left), qos, bool(packet.flags & 1)), packet_id


def read_id(packet: Packet) -> int:
    """The packet identifier of PUBACK, PUBREC, PUBREL or PUBCOMP. Raises MalformedPacket."""
    reader = _Reader(packet)
    found = reader.packet_id()
    reader.end()
    return found


def read_subscribe(packet: Packet) -> tuple[int, list[tuple[bytes, int]]]:
    """3.8, 3.10: the packet identifier and the filters with their QoS, 0 in UNSUBSCRIBE. Raises MalformedPacket."""
    reader = _Reader(packet)
    packet_id = reader.packet_id()
    filters: list[tuple[bytes, int]] = []
    while reader.left:
        found = reader.text()
        if not is_filter(found):
            raise MalformedPacket(f"{packet.kind.name} has {found[:24]!r}, which is not a filter")
        qos = reader.number(1) if packet.kind is PacketKind.SUBSCRIBE else 0
        if qos > 2:
            raise MalformedPacket(f"SUBSCRIBE asks for QoS {qos}")
        filters.append((found, qos))
    if not filters:
        raise MalformedPacket(f"{packet.kind.name} has no filter")
    return packet_id, filters


def is_filter(text: bytes) -> bool:
    """4.7.1: a wildcard stands alone in its level, and `#` only in the last one."""
    levels = text.split(b"/")
    plus = all(level == b"+" or b"+" not in level for level in levels)
    return bool(text) and plus and b"#" not in text.removesuffix(b"#") and (levels[-1] == b"#" or b"#" not in text)


def matches(topic: bytes, by: bytes) -> bool:
    """4.7: whether the filter `by` takes `topic`."""
    names, levels = topic.split(b"/"), by.split(b"/")
    if topic[:1] == b"$" and levels[0] in (b"+", b"#"):
        return False
    if levels[-1] == b"#":
        levels.pop()
        names = names[: len(levels)]
    return len(names) == len(levels) and all(level in (b"+", name) for name, level in zip(names, levels, strict=True))


def written(kind: PacketKind, body: bytes = b"", flags: int | None = None) -> bytes:
    """A packet as bytes; `flags` as its kind has them."""
    if len(body) > _MOST_REMAINING:
        raise ValueError(f"a packet of {len(body)} bytes; use {_MOST_REMAINING} at most")
    length, left = bytearray(), len(body)
    while True:
        length.append(left & 0x7F | (0x80 if left > 0x7F else 0))
        left >>= 7
        if not left:
            return bytes([kind << 4 | (_FLAGS.get(kind, 0) if flags is None else flags)]) + bytes(length) + body


def write_publish(message: Message, packet_id: int | None = None, *, again: bool = False) -> bytes:
    """`packet_id`: of QoS 1 and 2; `again`: it is sent a second time."""
    identifier = b"" if packet_id is None else packet_id.to_bytes(2, "big")
    flags = again << 3 | message.qos << 1 | message.retain
    topic = len(message.topic).to_bytes(2, "big") + message.topic
    return written(PacketKind.PUBLISH, topic + identifier + message.payload, flags)
