"""The PC's echoes against wsproto's own client, faults, figures, and rows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Event, Ping, Pong, Request, TextMessage

from portbench.workloads import BadResult, ConversationError, workload
from portbench.workloads.websocket.conversation import MAX_MESSAGE_BYTES, Echoes
from portbench.workloads.websocket.workload import ClientSettings

WEBSOCKET = workload("websocket")


class Client:
    """wsproto's client at an echo."""

    def __init__(self, echoes: Echoes) -> None:
        self.echoes = echoes
        self._connection = WSConnection(ConnectionType.CLIENT)
        assert [type(each) for each in self.send(Request(host="pc", target="/"))] == [AcceptConnection]

    def send(self, event: Event, cut: int | None = None) -> list[Event]:
        """The events that come back."""
        data = self._connection.send(event)
        for part in (data[:cut], data[cut:]) if cut is not None else (data,):
            if part:
                self._connection.receive_data(self.echoes.receive(part))
        return list(self._connection.events())


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)), st.integers(0, 400))
def test_messages_are_echoed_however_they_are_cut(message: str | bytes, cut: int) -> None:
    client = Client(Echoes())
    event = TextMessage(message) if isinstance(message, str) else BytesMessage(message)
    (echo,) = client.send(event, cut)
    assert isinstance(echo, TextMessage | BytesMessage) and echo.data == message and client.echoes.exchanges == 1


def test_a_message_in_parts_is_one_and_a_ping_is_none() -> None:
    client = Client(Echoes())
    assert client.send(BytesMessage(b"a", message_finished=False)) == []
    assert client.send(Ping(b"p")) == [Pong(b"p")]
    (echo,) = client.send(BytesMessage(b"b"))
    assert isinstance(echo, BytesMessage) and echo.data == b"ab" and client.echoes.exchanges == 1


def test_a_close_frame_ends_it() -> None:
    client = Client(Echoes())
    assert isinstance(client.send(CloseConnection(1000))[0], CloseConnection)
    assert client.echoes.finished
    client.echoes.eof()


def test_an_unused_connection_may_end_and_a_used_one_not() -> None:
    Echoes().eof()
    client = Client(Echoes())
    with pytest.raises(ConversationError, match="closed without a close frame, after 0 messages"):
        client.echoes.eof()


def test_a_message_without_end_is_refused() -> None:
    client = Client(Echoes())
    with pytest.raises(ConversationError, match=f"longer than {MAX_MESSAGE_BYTES} bytes"):
        for _ in range(MAX_MESSAGE_BYTES // 1024 + 1):
            client.send(BytesMessage(bytes(1024), message_finished=False))


@given(st.binary(min_size=1, max_size=100))
def test_any_bytes_are_answered_or_refused_in_one_line(data: bytes) -> None:
    for echoes in (Echoes(), Client(Echoes()).echoes):
        try:
            echoes.receive(data)
            echoes.receive(data)
        except ConversationError as error:
            assert "\n" not in str(error)


def test_figures_are_of_each_kind_and_size() -> None:
    settings = ClientSettings(messages=2, sizes="16,1024")
    trips = [[100, 300], [200, 200], [1000, 1000], [2000, 2000]]
    figures = WEBSOCKET.check({"connect_us": 5, "round_trip_us": trips}, settings).figures
    assert figures == {
        "echoes_per_s": 5000,
        "slowest_per_s": 500,
        "connect_us": 5,
        "binary_16_per_s": 5000,
        "text_16_per_s": 5000,
        "binary_1024_per_s": 1000,
        "text_1024_per_s": 500,
    }
    timed = WEBSOCKET.timed({"round_trip_us": trips})
    assert [each.exchange for each in timed] == list(range(8)) and WEBSOCKET.exchanges(settings) == 8


@pytest.mark.parametrize("trips", [[], [[1], [1, 2], [1, 2], [1, 2]], [[1, 2]] * 3])
def test_a_result_that_is_none(trips: list[Any]) -> None:
    with pytest.raises(BadResult, match="does not report 2 round trips of 4 kinds"):
        WEBSOCKET.check({"connect_us": 5, "round_trip_us": trips}, ClientSettings(messages=2))
