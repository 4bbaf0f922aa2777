"""clients/unix/, connected, on the hosted board, against the real server and servers that misbehave."""

import socket
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
