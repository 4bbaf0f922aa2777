"""The broker: answers, sessions, wills, retained messages, bounds, and any bytes at all."""

import os
import random

import pytest

from portbench.workloads.mqtt.broker import (
    MAX_PACKET_BYTES,
    MOST_FILTERS,
    MOST_RETAINED,
    MOST_SESSIONS,
    MOST_WAITING,
    Broker,
    BrokerLink,
)
from portbench.workloads.mqtt.packets import Message, PacketKind, written
from tests.workloads.mqtt.clients import connect, kinds, link, messages, publish, subscribe, text

CONNACK = b"\x20\x02\x00\x00"


def test_a_client_hears_itself_and_is_answered_by_qos() -> None:
    one, _ = link(Broker(), connect())
    assert one.receive(subscribe(b"a/+", 1)) == b"\x90\x03\x00\x01\x01"
    assert one.receive(publish(b"a/b", b"x")) == b"\x30\x06\x00\x03a/bx"
    assert one.receive(publish(b"b", b"x")) == b""
    said = one.receive(publish(b"a/b", b"y", 1, 5))
    assert said[:4] == b"\x40\x02\x00\x05" and messages(said) == [(b"a/b", b"y", 1)]
    assert one.receive(b"\x40\x02\x00\x01") == b""  # PUBACK
    assert one.receive(b"\xc0\x00") == b"\xd0\x00"
    assert one.receive(b"\xe0\x00") == b"" and one.finished and one.broken is None
    assert one.exchanges == 3


def test_a_client_hears_others_and_no_more_after_unsubscribe() -> None:
    broker = Broker()
    one, line = link(broker, connect(), subscribe(b"a"))
    two, _ = link(broker, connect(b"two"))
    assert two.receive(publish(b"a", b"1")) == b""
    assert [(messages(data), after) for data, after in line.sent] == [([(b"a", b"1", 0)], 0.0)]
    assert one.receive(written(PacketKind.UNSUBSCRIBE, b"\0\2" + text(b"a"))) == b"\xb0\x02\x00\x02"
    two.receive(publish(b"a", b"2"))
    assert len(line.sent) == 1


def test_qos_2_is_heard_once() -> None:
    heard: list[Message] = []
    one, _ = link(Broker(lambda _, message: heard.append(message)), connect())
    assert one.receive(publish(b"a", b"x", 2, 3)) == one.receive(publish(b"a", b"x", 2, 3)) == b"\x50\x02\x00\x03"
    assert one.receive(b"\x62\x02\x00\x03") == b"\x70\x02\x00\x03"
    one.receive(publish(b"a", b"x", 2, 3))
    assert len(heard) == 2


def test_a_persistent_session_keeps_filters_and_qos_1() -> None:
    broker = Broker()
    one, _ = link(broker, connect(clean=False), subscribe(b"a", 1))
    one.lost()
    two, _ = link(broker, connect(b"two"))
    two.receive(publish(b"a", b"0"))
    two.receive(publish(b"a", b"1", 1))
    again, _ = link(broker)
    said = again.receive(connect(clean=False))
    assert said[:4] == b"\x20\x02\x01\x00" and messages(said) == [(b"a", b"1", 1)]
    again.lost()
    fresh, _ = link(broker)
    assert fresh.receive(connect()) == CONNACK
    assert fresh.receive(publish(b"a", b"2")) == b""


def test_another_connection_takes_the_client_over() -> None:
    broker = Broker()
    one, line = link(broker, connect(will=b"will"))
    watcher, heard = link(broker, connect(b"two"), subscribe(b"will"))
    new, _ = link(broker, connect())
    assert line.closed and one.finished and not new.finished and not watcher.finished
    assert messages(heard.sent[0][0]) == [(b"will", b"gone", 0)]
    one.lost()
    assert new.receive(b"\xc0\x00") == b"\xd0\x00"


@pytest.mark.parametrize(("ends", "wills"), [("disconnect", 0), ("eof", 1), ("lost", 1), ("malformed", 1)])
def test_a_will_is_for_those_who_go_without_disconnect(ends: str, wills: int) -> None:
    broker = Broker()
    one, _ = link(broker, connect(will=b"will"))
    _, line = link(broker, connect(b"two"), subscribe(b"will"))
    match ends:
        case "disconnect":
            one.receive(b"\xe0\x00")
            one.eof()
        case "malformed":
            one.receive(b"\x00\x00")
        case _:
            getattr(one, ends)()
            one.lost()
    assert len(line.sent) == wills


def test_keep_alive_bounds_silence() -> None:
    one, _ = link(Broker(), connect(keep_alive_s=4))
    assert one.silence_us == 6e6
    assert link(Broker(), connect())[0].silence_us is None


def test_a_retained_message_waits_for_its_subscriber_until_it_is_emptied() -> None:
    broker = Broker()
    one, _ = link(broker, connect())
    one.receive(publish(b"a", b"x", retain=True))
    assert messages(one.receive(subscribe(b"#"))) == [(b"a", b"x", 0)]
    one.receive(publish(b"a", b"", retain=True))
    assert messages(one.receive(subscribe(b"#"))) == []


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ([publish(b"a", b"")], "the first packet is PUBLISH, not CONNECT"),
        ([connect(), connect()], "no second CONNECT"),
        ([connect(), written(PacketKind.PINGRESP)], "no PINGRESP"),
        ([connect(), written(PacketKind.SUBSCRIBE, b"\0\1")], "SUBSCRIBE has no filter"),
        ([connect(), subscribe(b"a#")], "not a filter"),
        ([connect(), subscribe(b"a", 3)], "asks for QoS 3"),
        ([connect(), written(PacketKind.SUBSCRIBE, b"\0\0" + text(b"a") + b"\0")], "identifier 0"),
        ([connect(), bytes([0x30, 0xFF, 0xFF, 0x7F])], "is longer than"),
    ],
)
def test_a_client_that_breaks_the_protocol_is_disconnected(said: list[bytes], says: str) -> None:
    one, _ = link(Broker(), *said)
    assert one.finished and one.broken is not None and says in one.broken


def test_refusals_have_their_codes() -> None:
    assert link(Broker())[0].receive(connect().replace(b"\x04\x02", b"\x05\x02")) == b"\x20\x02\x00\x01"
    nameless, _ = link(Broker())
    assert nameless.receive(connect(b"", clean=False)) == b"\x20\x02\x00\x02" and nameless.finished
    assert link(Broker())[0].receive(connect(b"")) == CONNACK


def test_all_that_it_keeps_is_bounded() -> None:
    broker = Broker()
    keeper, _ = link(broker, connect(b"keeper", clean=False), subscribe(b"#", 1))
    keeper.lost()
    one, _ = link(broker, connect())
    for number in range(2 * max(MOST_WAITING, MOST_RETAINED)):
        one.receive(publish(b"a/%d" % number, b"x", 1, retain=True))
    assert len(messages(one.receive(subscribe(b"#")))) == MOST_RETAINED
    for number in range(MOST_FILTERS + 1):
        last = one.receive(subscribe(b"f/%d" % number))
    assert last[-1] == 0x80
    again, _ = link(broker)
    assert len(messages(again.receive(connect(b"keeper", clean=False)))) == MOST_WAITING
    for number in range(MOST_SESSIONS + 1):
        link(broker, connect(b"s%d" % number))
    assert link(broker)[0].receive(connect(b"more")) == b"\x20\x02\x00\x03"
    for number in range(MOST_WAITING + 1):
        one.receive(publish(b"q", b"", 2, number + 1))
    assert one.broken is not None and "wait for PUBREL" in one.broken


SEEDS = [
    connect(),
    connect(b"", will=b"w"),
    connect(b"two", clean=False),
    subscribe(b"a/#", 1),
    publish(b"a/b", b"x", 1),
    publish(b"a/b", b"x", 2, retain=True),
    b"\x62\x02\x00\x09",
    b"\xc0\x00",
    b"\x40\x02\x00\x01",
    b"\xe0\x00",
]


def fuzz(packets: int, seed: int) -> int:
    """Send so many packets, true, mutated and made up, on some connections of one broker; returns how many were
    disconnected. What the broker keeps stays bounded, and the broker goes on serving."""
    drawn, broker, disconnected = random.Random(seed), Broker(), 0
    links = [BrokerLink(broker) for _ in range(8)]
    for _ in range(packets):
        at = drawn.randrange(len(links))
        data = bytearray(drawn.choice(SEEDS))
        match drawn.randrange(4):
            case 0:
                for _ in range(drawn.randint(1, 4)):
                    data[drawn.randrange(len(data))] = drawn.randrange(256)
            case 1:
                del data[drawn.randrange(len(data)) :]
            case 2:
                data += drawn.randbytes(drawn.randrange(20))
            case _:
                pass
        links[at].receive(bytes(data))
        assert links[at]._stream.pending <= MAX_PACKET_BYTES + 5
        if links[at].finished:
            disconnected += 1
            links[at] = BrokerLink(broker)
    assert len(broker._sessions) <= MOST_SESSIONS and len(broker._retained) <= MOST_RETAINED
    for session in broker._sessions.values():
        assert len(session.waiting) <= MOST_WAITING and len(session.filters) <= MOST_FILTERS
    well, _ = link(broker)
    assert kinds(well.receive(connect(b"well")))[0] is PacketKind.CONNACK
    return disconnected


def test_any_packets_leave_a_broker_that_serves() -> None:
    """PORTBENCH_MQTT_FUZZ_PACKETS=1000000 by hand."""
    packets = int(os.environ.get("PORTBENCH_MQTT_FUZZ_PACKETS", "3000"))
    disconnected = fuzz(packets, seed=1)
    print(f"{packets} packets, {disconnected} connections ended")
    assert disconnected > 100
