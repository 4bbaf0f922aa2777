"""The codec reads its own packets again, however the stream is cut, and refuses others in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads.mqtt.packets import (
    MalformedPacket,
    Message,
    Packet,
    PacketKind,
    Stream,
    is_filter,
    matches,
    read_connect,
    read_publish,
    read_subscribe,
    write_publish,
    written,
)

NAMES = st.text(st.characters(exclude_characters="+#\0", exclude_categories=("Cs",)), min_size=1, max_size=20)
MESSAGES = st.builds(
    Message, NAMES.map(str.encode), st.binary(max_size=300), qos=st.integers(0, 2), retain=st.booleans()
)


@given(st.lists(MESSAGES, min_size=1, max_size=5), st.data())
def test_messages_survive_any_cut(messages: list[Message], data: st.DataObject) -> None:
    bytes_ = b"".join(write_publish(each, 7 if each.qos else None) for each in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(bytes_)), max_size=6)))
    stream = Stream(1000)
    parts = [bytes_[a:b] for a, b in zip([0, *cuts], [*cuts, len(bytes_)], strict=True)]
    packets = [packet for part in parts for packet in stream.feed(part)]
    assert [read_publish(packet) for packet in packets] == [(m, 7 if m.qos else None) for m in messages]
    assert stream.pending == 0


@given(st.binary(max_size=200))
def test_any_bytes_are_packets_or_one_line(data: bytes) -> None:
    stream = Stream(100)
    try:
        for packet in stream.feed(data):
            for read in (read_connect, read_publish, read_subscribe):
                try:
                    read(packet)  # type: ignore[operator]
                except MalformedPacket as error:
                    assert "\n" not in str(error)
    except MalformedPacket as error:
        assert "\n" not in str(error)
    assert stream.pending <= len(data)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 16_383, 16_384])
def test_lengths_take_one_to_three_bytes(length: int) -> None:
    (packet,) = Stream(20_000).feed(written(PacketKind.PUBLISH, b"x" * length))
    assert len(packet.body) == length


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x30\xff\xff\xff\xff", "more than four bytes"),
        (b"\x30\x80\x08", "a packet of 1024 bytes is longer than 100"),
        (b"\x00\x00", "no packet of type 0"),
        (b"\xf0\x00", "no packet of type 15"),
        (b"\x80\x00", "SUBSCRIBE has the flags 0, not 2"),
        (b"\xc1\x00", "PINGREQ has the flags 1, not 0"),
    ],
)
def test_a_stream_that_is_none(data: bytes, says: str) -> None:
    with pytest.raises(MalformedPacket, match=says):
        list(Stream(100).feed(data))


@pytest.mark.parametrize(
    ("flags", "body", "says"),
    [
        (6, b"\0\1a\0\1", "the flags 6"),
        (8, b"\0\1a", "the flags 8"),
        (2, b"\0\1a\0\0", "identifier 0"),
        (2, b"\0\1a\0", "ends within a field"),
        (0, b"\0\1#", "empty or a filter"),
        (0, b"\0\0", "empty or a filter"),
        (0, b"\0\1\xff", "not UTF-8"),
        (0, b"\0\1\0", "not UTF-8, or has a zero"),
    ],
)
def test_a_message_that_is_none(flags: int, body: bytes, says: str) -> None:
    with pytest.raises(MalformedPacket, match=says):
        read_publish(Packet(PacketKind.PUBLISH, flags, body))


FULL = b"\0\x04MQTT\x04\xee\0\x3c\0\x03abc\0\x01w\0\x02hi\0\x01u\0\x01p"


def test_connect_has_a_will() -> None:
    asked = read_connect(Packet(PacketKind.CONNECT, 0, FULL))
    assert (asked.level, asked.client_id, asked.clean, asked.keep_alive_s) == (4, b"abc", True, 60)
    assert asked.will == Message(b"w", b"hi", 1, retain=True)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (FULL[:-1], "ends within a field"),
        (FULL + b"x", "1 bytes too many"),
        (FULL.replace(b"MQTT", b"MQTX"), "of the protocol b'MQTX'"),
        (FULL.replace(b"\xee", b"\xef"), "the flags 0xef"),
        (FULL.replace(b"\xee", b"\xfe"), "the flags 0xfe"),
        (FULL.replace(b"\xee", b"\x6e"), "the flags 0x6e"),
        (FULL.replace(b"\xee", b"\xea"), "the flags 0xea"),
    ],
)
def test_a_connect_that_is_none(body: bytes, says: str) -> None:
    with pytest.raises(MalformedPacket, match=says):
        read_connect(Packet(PacketKind.CONNECT, 0, body))


@pytest.mark.parametrize(
    ("topic", "by", "taken"),
    [
        (b"sport/tennis/player1", b"sport/tennis/player1/#", True),
        (b"sport/tennis/player1/ranking", b"sport/tennis/player1/#", True),
        (b"sport", b"sport/#", True),
        (b"sport/tennis/player1", b"sport/tennis/+", True),
        (b"sport/tennis/player1/ranking", b"sport/tennis/+", False),
        (b"sport", b"sport/+", False),
        (b"sport/", b"sport/+", True),
        (b"/finance", b"+/+", True),
        (b"/finance", b"+", False),
        (b"$SYS/x", b"#", False),
        (b"$SYS/x", b"$SYS/#", True),
        (b"$SYS/x", b"+/x", False),
        (b"a", b"A", False),
    ],
)
def test_filters_take_what_the_standards_examples_say(topic: bytes, by: bytes, taken: bool) -> None:
    assert is_filter(by) and matches(topic, by) is taken


@pytest.mark.parametrize("text", [b"", b"sport/tennis#", b"sport/#/ranking", b"sport+", b"#/a", b"##"])
def test_texts_that_are_no_filters(text: bytes) -> None:
    assert not is_filter(text)


@given(NAMES)
def test_a_topic_is_taken_by_itself_and_by_all(name: str) -> None:
    topic = name.encode()
    assert matches(topic, topic)
    assert matches(topic, b"#") is (topic[:1] != b"$")
