"""Clients of the broker in a test: the bytes that they send, and a line that keeps what the PC does by itself."""

from portbench.workloads.mqtt.broker import Broker, BrokerLink
from portbench.workloads.mqtt.packets import Message, PacketKind, Stream, read_publish, write_publish, written


class Kept:
    """A line that only notes."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, float]] = []
        self.closed = False

    def send(self, data: bytes, after_us: float) -> None:
        self.sent.append((data, after_us))

    def close(self) -> None:
        self.closed = True


def text(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def connect(client_id: bytes = b"one", *, clean: bool = True, keep_alive_s: int = 0, will: bytes = b"") -> bytes:
    flags = clean << 1 | (4 if will else 0)
    body = b"\0\x04MQTT\x04" + bytes([flags]) + keep_alive_s.to_bytes(2, "big") + text(client_id)
    return written(PacketKind.CONNECT, body + (text(will) + text(b"gone") if will else b""))


def subscribe(topic: bytes, qos: int = 0, packet_id: int = 1) -> bytes:
    return written(PacketKind.SUBSCRIBE, packet_id.to_bytes(2, "big") + text(topic) + bytes([qos]))


def publish(topic: bytes, payload: bytes, qos: int = 0, packet_id: int = 9, *, retain: bool = False) -> bytes:
    return write_publish(Message(topic, payload, qos, retain), packet_id if qos else None)


def link(broker: Broker, *said: bytes) -> tuple[BrokerLink, Kept]:
    """A connection on which `said` was said."""
    made, line = BrokerLink(broker), Kept()
    made.line = line
    made.opened()
    for data in said:
        made.receive(data)
    return made, line


def messages(data: bytes) -> list[tuple[bytes, bytes, int]]:
    """Topic, payload and QoS of the messages in `data`."""
    found = [read_publish(each)[0] for each in Stream(1 << 20).feed(data) if each.kind is PacketKind.PUBLISH]
    return [(each.topic, each.payload, each.qos) for each in found]


def kinds(data: bytes) -> list[PacketKind]:
    return [each.kind for each in Stream(1 << 20).feed(data)]
