"""The record of a conversation, with any driver."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from portbench.server.recording import Recording
from portbench.server.tls.channel import Channel
from portbench.server.tls.peer import TlsFault
from portbench.workloads import Conversation, ConversationError, Ping, PingPlan, Session, Turnaround, workload

PING_PONG = workload("ping_pong")
STREAM = b"".join(sent for sent, _ in PING_PONG.ideal_client(20))
ANSWERS = b"".join(answer for _, answer in PING_PONG.ideal_client(20))


def recording() -> Recording:
    return Recording(3, "192.0.2.1:7", 10.0, PING_PONG.conversation(1000))


def test_each_exchange_has_its_times() -> None:
    subject = recording()
    for now_us, data in ((20.0, b"1"), (40.0, b"35"), (60.0, b"7")):
        subject.receive(data, now_us)
        subject.sent(now_us + 5)
    subject.ended(100.0)
    session = subject.session()
    assert session.received_us == [20, 40, 40, 60] and session.sent_us == [25, 45, 45, 65]
    assert session.turnaround_us == [5] * 4 and session.turnaround == Turnaround(4, 5, 5, 5)
    assert (session.exchanges, session.arrivals, session.pipelined, session.received_bytes) == (4, 3, 1, 4)
    assert (session.number, session.peer, session.started_us, session.ended_us) == (3, "192.0.2.1:7", 10, 100)
    assert session.ok
    assert session.line() == (
        "192.0.2.1:7 ok exchanges=4 bytes=4 seconds=0.000 turnaround_us=5.0 (p99 5.0) pipelined=1"
    )


def test_what_was_due_before_a_fault_is_sent() -> None:
    subject = recording()
    assert subject.receive(b"13x", 20.0) == b"24"
    session = subject.session()
    assert (session.exchanges, session.arrivals, session.ok) == (2, 1, False)
    assert session.error == "message 3 must be 5, not b'x'"
    assert session.line().endswith(" error: message 3 must be 5, not b'x'")


class UntilEof(Conversation):
    """One exchange, which ends with the connection."""

    def opened(self) -> bytes:
        return b"?"

    def receive(self, data: bytes) -> bytes:
        return b""

    def eof(self) -> None:
        self.exchanges, self.finished = 1, True


def test_an_end_may_be_the_last_thing_that_is_said() -> None:
    subject = Recording(0, "192.0.2.1:80", 1.0, UntilEof())
    subject.established(2.0)
    subject.receive(b"page", 20.0)
    assert subject.session().received_us == []
    subject.eof(30.0)
    session = subject.session()
    assert (session.received_us, session.exchanges, session.arrivals, session.ok) == ([30.0], 1, 1, True)


def test_a_report() -> None:
    subject = recording()
    subject.receive(b"1{", 20.0)
    assert not subject.reported
    subject.receive(b'"a":1}\n', 30.0)
    assert subject.reported and subject.session().report == {"a": 1} and " report=yes" in subject.session().line()


class Loud:
    """A peer of TLS, whose ciphertext is in capitals, and its one connection."""

    handshaking, version, cipher_suite, server_name, resumed = False, "TLSv1.3", "SUITE", "pc.test", True

    def __init__(self) -> None:
        self.said: list[object] = []

    def accept(self) -> Loud:
        return self

    def connect(self, *server: object) -> Loud:
        self.said.append(server)
        return self

    def receive(self, data: bytes, unix_s: int) -> tuple[bytes, bytes, bool]:
        self.said.append(unix_s)
        if data == b"\x16BAD":
            raise TlsFault("it is bad", b"ALERT")
        return data.lstrip(b"\x16").lower(), b"<", False

    def send(self, plaintext: bytes) -> bytes:
        return plaintext.upper()

    def close(self) -> bytes:
        return b">"


class Words(Conversation):
    """Says and hears words, and does what they say."""

    def opened(self) -> bytes:
        return b"hello"

    def receive(self, data: bytes) -> bytes:
        self.exchanges += 1
        self.listening, self.pings = "here", PingPlan((64,), 1, 1, 1)
        self.finished = data == b"bye"
        if data == b"wrong":
            raise ConversationError("it is wrong", b"due")
        return b"heard"

    def pinged(self) -> bytes:
        return b"pinged"

    def eof(self) -> None:
        pass


def encrypted(server: tuple[str, bytes] | None) -> tuple[Recording, Loud]:
    peer = Loud()
    channel = Channel(peer, lambda now_us: int(now_us) * 2, server)
    return Recording(0, "peer", 1.0, Words(), channel=channel), peer


def test_the_whole_record_of_an_encrypted_conversation() -> None:
    subject, peer = encrypted(("name", b"root"))
    assert subject.established(5.0, handover_us=2.0) == b"HELLO" and peer.said == [("name", b"root")]
    assert subject.receive(b"ONE", 10.0) == b"<HEARD" and subject.encrypted(b"more") == b"MORE"
    subject.sent(11.0)
    assert subject.receive(b"BYE", 20.0) == b"<HEARD>" and peer.said[1:] == [20, 40]
    subject.delivered(21.0)
    assert subject.pinged([Ping(64, 7.5), Ping(64, None)]) == b"PINGED"
    assert (subject.announced_us, subject.pings_asked_us) == (10, 10)
    subject.ended(30.0)
    tls = {"version": "TLSv1.3", "cipher_suite": "SUITE", "server_name": "pc.test", "resumed": True}
    tls |= {"board_bytes": 3, "pc_bytes": 6, "messages": []}
    assert subject.session() == Session(
        *(0, "peer", 1.0, 30.0, 2, 6, None, None, [10.0, 20.0], [11.0], 2, 1, 5.0, 7.0, 10.0, 20.0),
        listening="here",
        delivered_us=[21.0],
        ping_bytes=[64, 64],
        ping_round_trip_us=[7.5, None],
        tls=tls,
    )


def test_a_limited_run_is_whole_once_what_the_pc_closes_has_ended() -> None:
    subject = Recording(0, "peer", 1.0, Words(), limit=2)
    found = []
    for word in (b"one", b"two", b"bye"):
        subject.receive(word, 2.0)
        found.append((subject.whole, subject.finished))
    subject.ended(3.0)
    assert [*found, (subject.whole, subject.finished)] == [(False, False), (True, False), (False, True), (True, True)]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_cuts_change_when_things_came_and_nothing_else(cuts: list[int]) -> None:
    subject, answers = recording(), b""
    for now_us, (low, high) in enumerate(pairwise([0, *sorted(cuts), len(STREAM)])):
        answers += subject.receive(STREAM[low:high], float(now_us))
        subject.sent(now_us + 0.5)
    subject.eof(0.0)
    session = subject.session()
    assert answers == ANSWERS and session.ok and session.exchanges == 20 == len(session.received_us)
    assert session.received_us == sorted(session.received_us) and session.turnaround_us == [0.5] * 20
    assert session.arrivals == len(set(session.received_us)) <= len(cuts) + 1
    assert Session(**json.loads(json.dumps(asdict(session)))) == session
