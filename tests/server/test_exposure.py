"""Who can reach the server, and what a port scanner can do to it."""

import contextlib
import socket
import struct
import sys
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.boards import Board, Deadline, board_definition
from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.runner.options import How
from portbench.runner.servers import Servers
from portbench.server.tcp import WorkloadServer, measure_round_trip
from portbench.where import Where
from portbench.workloads import workload

PING_PONG = workload("ping_pong")

HOW = How(server_port=0)
PROBES = (
    b"",
    b"\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"OPTIONS sip:nm SIP/2.0\r\nVia: SIP/2.0/TCP nm\r\n\r\n",
    b"\x16\x03\x00\x00S\x01\x00\x00O\x03\x00" + bytes(80),  # TLS hello
    b"\x00\x00\x00\xa4\xff\x53\x4d\x42" + bytes(160),  # SMB
    b"\x03\x00\x00\x0b\x06\xe0\x00\x00\x00\x00\x00",  # RDP
    b"EHLO\r\n",
    b"9" * 4096,
)
"""Probes that scanners such as nmap send to identify a server."""


def listening(process: psutil.Process) -> set[str]:
    return {each.laddr.ip for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN}


def settled(server: WorkloadServer) -> None:
    """Returns when all who have connected are gone, those included who still wait in the system's queue."""
    limit = Deadline(60, "server")
    with socket.create_connection((server.host, server.port), timeout=60) as last:
        name = "{}:{}".format(*last.getsockname())
    limit.poll(lambda: any(each.peer == name for each in server.sessions()), 0.01, "the last in the queue to be served")
    limit.poll(lambda: server.active_clients == 0, 0.01, "its clients to be gone")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 without being told")
def test_only_the_address_that_was_asked_for_answers() -> None:
    with WorkloadServer(PING_PONG, "127.0.0.2", 0) as server:
        socket.create_connection(("127.0.0.2", server.port), timeout=5).close()
        for other in ("127.0.0.1", "127.0.0.3"):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((other, server.port), timeout=5)


def test_boards_on_this_pc_open_nothing_to_the_network() -> None:
    before = listening(psutil.Process())
    servers = Servers(HOW)
    servers.peer_for(cast(Board, SimpleNamespace(where=Where.HOSTED, own_network=None)), PING_PONG)
    assert listening(psutil.Process()) - before <= {"127.0.0.1"}
    servers.close()


@pytest.mark.engine
def test_an_emulated_board_listens_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portbench.boards.desk.board import DeskBoard

    monkeypatch.setenv(RUNTIME_DIR_VARIABLE, str(tmp_path))

    servers = Servers(HOW)
    others = set(psutil.Process().children(recursive=True))  # of fixtures that live longer than one test
    with DeskBoard.started(board_definition("W5500_EVB_PICO")) as board:
        assert servers.peer_for(board, PING_PONG)[1] is None
        started = set(psutil.Process().children(recursive=True)) - others
        assert started
        assert all(listening(child) == set() for child in started)
    servers.close()


def test_a_real_board_gets_the_address_that_was_named() -> None:
    servers = Servers(How(server_port=0, server_host="127.0.0.1"))
    peer, server = servers.peer_for(cast(Board, SimpleNamespace(where=Where.SILICON, own_network=None)), PING_PONG)
    assert server is not None and server.host == "127.0.0.1"
    assert peer is not None and peer.address == ip_address("127.0.0.1")
    servers.close()


def test_a_port_scan_is_survived() -> None:
    """Connects, half-connects, resets and every probe, many at once; then a client is served as if nothing had been."""
    with WorkloadServer(PING_PONG, port=0, max_clients=16, idle_timeout_s=30, max_bytes=1 << 16) as server:
        for round_number in range(20):
            scanners = []
            for probe in PROBES:
                scanner = socket.create_connection((server.host, server.port), timeout=60)
                with contextlib.suppress(ConnectionError):  # refused, with too many clients at once
                    scanner.sendall(probe)
                scanners.append(scanner)
            for number, scanner in enumerate(scanners):
                if (round_number + number) % 2:  # a reset instead of an orderly end
                    scanner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                scanner.close()
        settled(server)
        connected = 20 * len(PROBES) + 1  # the one of `settled` included
        if sys.platform == "linux":  # elsewhere one that was reset in the queue is never heard of
            assert server.accepted == connected
        assert connected / 2 <= server.accepted <= connected and len(server.sessions()) <= 1000
        assert measure_round_trip(server.host, server.port, PING_PONG.ideal_client(20)).n == 20


def test_idle_connections_do_not_pile_up() -> None:
    with WorkloadServer(PING_PONG, port=0, max_clients=8, idle_timeout_s=0.3) as server:
        idle = [socket.create_connection((server.host, server.port), timeout=60) for _ in range(100)]
        for each in idle:  # turned away at once, or cut off when idle for too long
            while True:
                try:
                    if not each.recv(1024):
                        break
                except ConnectionError:
                    break
            each.close()
        settled(server)
        assert measure_round_trip(server.host, server.port, PING_PONG.ideal_client(20)).n == 20


@settings(max_examples=50)
@given(st.lists(st.binary(min_size=1, max_size=64), max_size=4))
def test_whatever_somebody_says_the_next_is_served(said: list[bytes]) -> None:
    with WorkloadServer(PING_PONG, port=0) as server:
        with socket.create_connection((server.host, server.port), timeout=60) as client:
            for data in said:
                try:
                    client.sendall(data)
                except ConnectionError:
                    break
        assert measure_round_trip(server.host, server.port, PING_PONG.ideal_client(3)).n == 3
