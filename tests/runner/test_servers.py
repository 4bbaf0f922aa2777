"""The servers that several boards share."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock, Mock

import pytest

from portbench.boards import Board
from portbench.errors import PortbenchError
from portbench.runner import servers as servers_module
from portbench.runner.options import SERVER_PORT, How
from portbench.runner.program import Peer
from portbench.runner.servers import Servers, sessions_since
from portbench.server.tcp import measure_round_trip
from portbench.where import Where
from portbench.workloads import WORKLOADS_VARIABLE, Workload, workload
from tests.ping_pong import PING_PONG
from tests.workloads.own import FOLDER

HOSTED = cast(Board, SimpleNamespace(where=Where.HOSTED, own_network=None))


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = Servers(How(), parallel=2)
    yield made
    made.close()


def test_all_threads_use_one_server(servers: Servers) -> None:
    with ThreadPoolExecutor(4) as pool:
        one, *others = pool.map(lambda _: servers.peer_for(HOSTED, PING_PONG), range(4))
    assert all(each == one for each in others) and one[0] is not None and one[0].address == IPv4Address("127.0.0.1")
    server = one[1]
    assert server is not None and servers.own_turnaround["127.0.0.1"].median_us > 0
    first = server.accepted
    measure_round_trip(server.host, server.port, PING_PONG.ideal_client(5))
    assert [each.exchanges for each in sessions_since(server, first)] == [5]
    assert sessions_since(server, first, "127.0.0.1")
    assert server.accepted == first + 1 and len(server.sessions()) == first + 1


def test_a_boards_sessions_are_there_once_all_its_connections_have_ended(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, server = servers.peer_for(HOSTED, PING_PONG)
    assert server is not None
    first, connected = server.accepted, server.connected
    with socket.create_connection((server.host, server.port), timeout=5) as client:

        def connected_and_gone(after: int) -> list[str]:
            found = connected(after)
            client.close()
            return found

        monkeypatch.setattr(server, "connected", connected_and_gone)
        measure_round_trip(server.host, server.port, PING_PONG.ideal_client(5))
        assert [each.exchanges for each in sessions_since(server, first) if each.exchanges] == [5]
    assert len(server.sessions()) == first + 2


def test_each_workload_has_a_server_of_its_own(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    (one, _), (two, _), again = (servers.peer_for(HOSTED, each) for each in (PING_PONG, workload("echo"), PING_PONG))
    assert one is not None and two is not None and one.port != two.port and again[0] == one
    assert (servers._port(str(one.address), 7), servers._port("10.0.0.9", 7)) == (0, 7)
    with socket.create_connection((str(two.address), two.port), timeout=5) as client:
        client.sendall(b"hello")
        assert client.recv(16) == b"hello"


def test_two_benches_do_not_meet_at_one_port() -> None:
    both = [Servers(How()) for _ in range(2)]
    try:
        first, second = (each.peer_for(HOSTED, PING_PONG)[0] for each in both)
        assert first is not None and second is not None and first.port != second.port
    finally:
        for each in both:
            each.close()


OWN = SimpleNamespace(server=IPv4Address("10.0.0.9"), port=4711)
THERE = (Peer(OWN.server, 4711), None)


@pytest.mark.parametrize(
    ("where", "own", "name", "has_console", "how", "found"),
    [
        ("silicon", None, "interpreter", True, How(), (None, None)),
        ("emulated", OWN, "interpreter", False, How(), THERE),
        ("emulated", OWN, "ping_pong", True, How(server_port=5), THERE),
        ("emulated", OWN, "server", True, How(server_port=5), (Peer(None, 4711), None)),
        ("emulated", OWN, "server", False, How(), THERE),
        ("emulated", None, "server", True, How(), (Peer(None, SERVER_PORT), None)),
        ("silicon", None, "server", True, How(server_port=5), (Peer(None, 5), None)),
        ("silicon", None, "ping_pong", True, How(), ("10.0.0.2", SERVER_PORT)),
        ("silicon", None, "server", False, How(server_host="10.0.0.3", server_port=0), ("10.0.0.3", 0)),
        ("hosted", None, "ping_pong", True, How(server_host="10.0.0.3"), ("127.0.0.1", 0)),
        ("emulated", None, "ping_pong", True, How(server_port=5), ("127.0.0.1", 5)),
    ],
)
def test_where_a_board_finds_its_server(
    where: str, own: Any, name: str, has_console: bool, how: How, found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(self: Servers, host: str, served: Workload, port: int) -> Any:
        assert served is workload(name)
        return SimpleNamespace(host=host, port=port)

    monkeypatch.setattr(Servers, "at", at)
    monkeypatch.setattr(servers_module, "address_of_this_pc", lambda: "10.0.0.2")
    board = cast(Board, SimpleNamespace(where=Where(where), own_network=own))
    peer, server = Servers(how).peer_for(board, workload(name), has_console=has_console)
    if server is None:
        assert (peer, server) == found
    else:
        assert (server.host, server.port) == found and peer == Peer(IPv4Address(server.host), server.port)


def test_a_port_is_free_or_of_one_workload_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    (peer, _) = Servers(How(server_port=7)).peer_for(HOSTED, workload("server"))
    assert peer is not None and peer.address is None
    with socket.create_server(("127.0.0.1", peer.port)):  # it is free
        pass
    one = Servers(How(), parallel=1)
    try:
        first, second = (one.at("127.0.0.1", each, 0) for each in (PING_PONG, workload("server")))
        assert one.at("127.0.0.1", workload("server"), 0) is second
        with socket.create_server(("127.0.0.1", first.port)):  # the server of the workload before has gone
            pass
        assert one.at("localhost", PING_PONG, 0) is not second and one.at("127.0.0.1", workload("server"), 0) is second
        assert one.own_turnaround.keys() == {"127.0.0.1", "localhost"}
    finally:
        one.close()


def test_this_pcs_address_is_that_of_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = MagicMock()
    probe.__enter__.return_value = probe
    probe.getsockname.return_value = ("10.0.0.2", 5)
    monkeypatch.setattr(servers_module, "socket", Mock(socket=Mock(return_value=probe)))
    assert servers_module.address_of_this_pc() == "10.0.0.2"
    probe.connect.side_effect = OSError(101, "Network is unreachable")
    says = r"^no network for real boards \(Network is unreachable\); name it: -s server_host=ADDRESS$"
    with pytest.raises(PortbenchError, match=says):
        servers_module.address_of_this_pc()


def test_the_usual_port_is_used_where_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr("portbench.runner.options.SERVER_PORT", port := taken.getsockname()[1])
        given = Servers(How(server_port=port), parallel=2)
        with pytest.raises(PortbenchError, match="cannot listen: the port is in use"):
            given.peer_for(HOSTED, PING_PONG)
        given.close()
