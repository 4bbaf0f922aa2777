"""The console server serves one client after the other."""

import contextlib
import socket
from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portbench.boards import BoardUnavailable, Deadline
from portbench.boards.remote.serial_server import Protocol, SerialServer
from portbench.boards.repl import Repl
from portbench.boards.usb.port import SerialWire, remote_port
from tests.boards.usb.fake_board import FakeBoard

pytestmark = pytest.mark.slow

Boards = Callable[..., FakeBoard]
IAC = 255


def answers(server: SerialServer) -> bool:
    port = remote_port(server.url, 115200)
    port.open()
    with closing(Repl(SerialWire(port, "test"), "test")) as repl:
        return repl.execute("print(6 * 7)", Deadline(10, "test"), "an answer").strip() == "42"


@pytest.mark.parametrize("protocol", ["rfc2217", "raw"])
def test_listens_on_this_pc_only_unless_asked(boards: Boards, protocol: Protocol) -> None:
    fake = boards()
    with SerialServer(lambda: fake.devices()[0], protocol=protocol) as server:
        assert server.host == "127.0.0.1" and answers(server)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=200),
            st.binary(max_size=20).map(lambda data: bytes([IAC, 250, 44]) + data + bytes([IAC, 240])),
            st.sampled_from([bytes([IAC]), bytes([IAC, 253]), bytes([IAC, 240]), bytes([IAC, 250])]),
        ),
        max_size=5,
    )
)
def test_no_client_keeps_the_next_from_the_board(boards: Boards, said: list[bytes]) -> None:
    fake = boards()
    with SerialServer(lambda: fake.devices()[0]) as server:
        with (
            contextlib.suppress(ConnectionError),  # the server may end the connection after the first bad bytes
            socket.create_connection((server.host, server.port), timeout=5) as client,
        ):
            for data in said:
                client.sendall(data)
        assert answers(server)


def test_a_board_that_is_away_turns_clients_away(boards: Boards) -> None:
    fake = boards()
    log: list[str] = []
    with (
        SerialServer(lambda: None, protocol="raw", log=log.append) as server,
        socket.create_connection((server.host, server.port), timeout=5) as client,
    ):
        assert client.recv(1) == b""
    assert log == ["127.0.0.1: turned away, the board shows no port"] and fake.boots == 0


def test_the_port_is_free_while_nobody_is_there(boards: Boards) -> None:
    fake = boards()
    with SerialServer(lambda: fake.devices()[0], protocol="raw") as server:
        assert answers(server) and answers(server)


def test_an_address_that_cannot_be_had_is_one_line(boards: Boards) -> None:
    with SerialServer(lambda: None) as server, pytest.raises(BoardUnavailable, match=r"listen there: .*in use"):
        SerialServer(lambda: None, port=server.port)
    with pytest.raises(BoardUnavailable, match="cannot listen there"):
        SerialServer(lambda: None, port=99999)
