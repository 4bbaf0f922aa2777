"""clients/unix/, connected, on the hosted board, against the real server and servers that misbehave."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from typing import Any

from portbench.boards import Deadline
from portbench.boards.hosted.micropython_unix import HostedMicroPython
from portbench.clients import ClientNetwork
from portbench.server.tcp import WorkloadServer
from tests.ping_pong import EVB, PING_PONG, deployment


def run_client(port: int, messages: int = 100, ready_timeout_s: float = 5) -> dict[str, Any]:
    network = ClientNetwork(server=IPv4Address("127.0.0.1"), port=port, ready_timeout_s=ready_timeout_s)
    with HostedMicroPython(EVB) as board:
        board.deploy(deployment("hosted", network, messages), Deadline(5, "deploy"))
        result = board.run(Deadline(20, "run")).result
    assert result is not None
    return result


@contextmanager
def server_that(answers: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server of one client, which `answers` serves; the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                client.settimeout(20)
                answers(client)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(20)
        assert not thread.is_alive()


def test_every_message_reaches_the_real_server() -> None:
    with WorkloadServer(PING_PONG, "127.0.0.1", 0) as server:
        result = run_client(server.port, 500)
        session = server.wait_sessions(1, 5)[0]
    assert session.ok and session.exchanges == 500 == result["messages"] and session.pipelined == 0
    assert len(result["round_trip_us"]) == 500 and sum(result["round_trip_us"]) <= result["total_us"]
    assert result["connect_attempts"] == 1 and result["ready_us"] > 0


def test_nobody_there_ends_at_the_clients_own_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    result = run_client(port, ready_timeout_s=0.1)
    assert result["stage"] == "connect" and result["connect_attempts"] > 1
    assert "total_us" not in result and result["error"].startswith("OSError(")


def test_a_server_that_leaves_is_an_error() -> None:
    def leave(client: socket.socket) -> None:
        client.recv(16)
        client.sendall(b"2")
        client.recv(16)

    with server_that(leave) as port:
        result = run_client(port)
    assert result["stage"] == "run" and "error" in result


def test_a_wrong_answer_is_an_error() -> None:
    def lie(client: socket.socket) -> None:
        client.recv(16)
        client.sendall(b"3")
        client.recv(16)

    with server_that(lie) as port:
        result = run_client(port)
    assert result["stage"] == "run" and "expected b'2', got b'3'" in result["error"]


def test_answers_in_pieces_are_put_together() -> None:
    def drip(client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for value in range(1, 2 * 60, 2):
            assert client.recv(16) == b"%d" % value
            for digit in b"%d" % (value + 1):
                client.sendall(bytes([digit]))

    with server_that(drip) as port:
        assert run_client(port, 60)["messages"] == 60
