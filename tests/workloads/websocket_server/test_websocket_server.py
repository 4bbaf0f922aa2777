"""The PC's client against wsproto's own server, faults, figures, and rows."""

from itertools import accumulate
from typing import Any

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

from portbench.workloads import BadResult, ConversationError, Session, workload
from portbench.workloads.websocket.workload import Settings
from portbench.workloads.websocket_server.conversation import Sends
from portbench.workloads.websocket_server.workload import messages

SERVER = workload("websocket_server")
SETTINGS = Settings(messages=2, sizes="3")


class Board:
    """wsproto's server, which answers each event with those of `answer`."""

    def __init__(self, sends: Sends) -> None:
        self.sends = sends
        self.connection = WSConnection(ConnectionType.SERVER)
        self.connection.receive_data(sends.opened())
        assert isinstance(next(self.connection.events()), Request)

    def say(self, *events: Event) -> list[Event]:
        said = b"".join(self.connection.send(event) for event in events)
        self.connection.receive_data(self.sends.receive(said))
        return list(self.connection.events())


def test_each_message_follows_the_echo_before_and_the_last_is_followed_by_close() -> None:
    board = Board(Sends(messages(SETTINGS)))
    events = board.say(AcceptConnection())
    said: list[Any] = []
    while isinstance(events[0], BytesMessage | TextMessage):
        said.append(events[0].data)
        events = board.say(type(events[0])(events[0].data))  # type: ignore[arg-type]
    assert said == [b"www", b"www", "www", "www"] == messages(SETTINGS)
    assert isinstance(events[0], CloseConnection) and board.sends.finished and board.sends.exchanges == 4


def test_a_row_repeats_itself_byte_by_byte() -> None:
    def said() -> list[bytes]:
        sends = Sends([b"ab"])
        request = sends.opened()
        board = WSConnection(ConnectionType.SERVER)
        board.receive_data(request)
        return [request, sends.receive(board.send(AcceptConnection()))]

    assert said() == said()


def test_parts_are_one_echo_and_pings_are_answered() -> None:
    board = Board(Sends([b"ab", b"c"]))
    board.say(AcceptConnection())
    assert board.say(BytesMessage(b"a", message_finished=False), Ping(b"p")) == [Pong(b"p")]
    (following,) = board.say(BytesMessage(b"b"))
    assert isinstance(following, BytesMessage) and following.data == b"c"


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (BytesMessage(b"x"), "echo 1 has 1 other bytes than its message"),
        (TextMessage("www"), "echo 1 has 3 other bytes"),
        (CloseConnection(1000), "the board said close after 0 of 4 echoes"),
    ],
)
def test_a_board_that_does_not_echo(said: Event, says: str) -> None:
    board = Board(Sends(messages(SETTINGS)))
    board.say(AcceptConnection())
    with pytest.raises(ConversationError, match=says):
        board.say(said)
    with pytest.raises(ConversationError, match="closed after 0 of 4"):
        board.sends.eof()


def test_a_board_that_refuses() -> None:
    with pytest.raises(ConversationError, match="refused the WebSocket with status 404"):
        Board(Sends([b"a"])).say(RejectConnection(status_code=404))
    refused = Sends([b"a"])
    refused.opened()
    with pytest.raises(ConversationError, match="after 0 echoes the board broke the protocol"):
        refused.receive(b"what\r\n\r\n")


def session(*trips_us: float, asked_us: float = 100.0) -> Session:
    received = list(accumulate(trips_us, initial=asked_us))[1:]
    return Session(0, "b:1", 0.0, 9e9, len(received), 1, None, received_us=received, asked_us=asked_us)


def test_figures_leave_the_handshake_out() -> None:
    figures = SERVER.check({"echoed": 4}, SETTINGS, [session(5000, 1000, 2000, 2000)]).figures
    assert figures == {
        "echoes_per_s": 1000,
        "slowest_per_s": 500,
        "open_us": 5000,
        "binary_3_per_s": 1000,
        "text_3_per_s": 500,
    }
    timed = SERVER.timed({"echoed": 4}, [session(5000, 1000, 2000, 2000)])
    assert [(each.name, each.exchange, each.duration_us, each.start_us) for each in timed] == [
        ("round trip", 1, 1000, 5100),
        ("round trip", 2, 2000, 6100),
        ("round trip", 3, 2000, 8100),
    ]


def test_lacking_echoes_are_no_result() -> None:
    with pytest.raises(BadResult, match="the board sent 4 echoes and the PC has 3, not 4"):
        SERVER.check({"echoed": 4}, SETTINGS, [session(1, 1, 1)])


def test_one_message_has_no_interval() -> None:
    with pytest.raises(ValueError, match="use 2 or more"):
        SERVER.check_room("circuitpython", Settings(messages=1))
