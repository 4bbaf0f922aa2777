"""The W5500 model against a driver that knows nothing of it: Adafruit's, newest and of September 2023."""

from typing import Any

import pytest

from portbench.server.simulated_load_generator import NOTHING, Reply
from portbench.server.simulated_pc import SimulatedServer, part_in
from portbench.workloads import Session
from tests.boards.hosted.conftest import PC_IP, Bench, MakeBench

pytestmark = pytest.mark.engine
PORT = 5000
CLOSE_WAIT = 0x1C
"""Sn_SR: the peer has sent FIN (datasheet 3.2)."""


class Recorder:
    """A TCP application on the simulated PC that keeps received bytes."""

    def __init__(self) -> None:
        self.peers: list[str] = []
        self.data = b""

    def accept(self, conn: int, peer: str, now_us: float) -> Reply:
        self.peers.append(peer)
        return NOTHING

    def receive(self, conn: int, data: bytes, now_us: float) -> Reply:
        self.data += data
        return NOTHING

    def closed(self, conn: int, reset: bool, now_us: float) -> Reply:
        """The driver's connections end in different ways: the chip's sockets tell instead."""
        return NOTHING


def statuses(eth: Any) -> list[int]:
    """Sn_SR of all sockets; the older driver gives bytes."""
    values = (eth.socket_status(number) for number in range(8))
    return [value if isinstance(value, int) else value[0] for value in values]


def receive(sock: Any, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = sock.recv(length - len(data))
        assert part, f"the connection ended after {len(data)} of {length} bytes"
        data += part
    return data


def test_finds_the_chip_and_its_link(make_bench: MakeBench) -> None:
    eth = make_bench().nic(dhcp=False)
    assert eth.chip == "w5500" and eth.max_sockets == 8
    assert eth.link_status
    assert bytes(eth.mac_address) == bytes((0x02, 0x08, 0xDC, 0x55, 0x00, 0x01))


def test_gets_a_lease(make_bench: MakeBench) -> None:
    eth = make_bench().nic()
    ip, mask, gateway, dns = (eth.pretty_ip(bytes(part)) for part in eth.ifconfig)
    assert (ip, mask, gateway, dns) == ("192.168.50.100", "255.255.255.0", PC_IP, PC_IP)


def test_without_a_dhcp_server_it_gives_up(make_bench: MakeBench) -> None:
    bench = make_bench(access_us=500, dhcp=False)  # it polls for half a minute
    with pytest.raises((RuntimeError, TimeoutError)):
        bench.nic()


def test_waits_for_a_late_link(make_bench: MakeBench) -> None:
    bench = make_bench(phy_link_delay_us=7_000_000)  # the driver itself waits 5 s after its first second
    eth = bench.nic(dhcp=False)
    assert not eth.link_status
    with pytest.raises(ConnectionError):
        eth.set_dhcp()
    bench.pass_time(2)
    assert eth.link_status
    eth.set_dhcp()
    assert eth.pretty_ip(bytes(eth.ip_address)) == "192.168.50.100"


def test_moves_more_than_a_buffer_both_ways(make_bench: MakeBench) -> None:
    bench = make_bench(tcp_echo_port=7)
    sock = bench.sockets(bench.nic()).socket()
    sock.connect((PC_IP, 7))
    sent = bytes(index * 31 % 251 for index in range(10_000))
    echoed = b""
    for start in range(0, len(sent), 1500):
        sock.send(sent[start : start + 1500])
        echoed += receive(sock, len(sent[start : start + 1500]))
    assert echoed == sent


def test_seven_connections_at_once(make_bench: MakeBench) -> None:
    bench = make_bench(tcp_echo_port=7)
    pool = bench.sockets(bench.nic())
    socks = [pool.socket() for _ in range(7)]  # the driver keeps socket 0 to itself
    for sock in socks:
        sock.connect((PC_IP, 7))
    for index, sock in enumerate(socks):
        sock.send(b"socket %d" % index)
    assert [receive(sock, 8) for sock in reversed(socks)] == [b"socket %d" % index for index in reversed(range(7))]


def test_sends_and_receives_udp(make_bench: MakeBench) -> None:
    bench = make_bench(udp_echo_port=7)
    pool = bench.sockets(bench.nic())
    sock = pool.socket(type=pool.SOCK_DGRAM)
    sock.settimeout(2)
    sock.bind((None, 4000))
    for data in (b"one", b"x" * 1400):
        sock.sendto(data, (PC_IP, 7))
        answer, (address, port) = sock.recvfrom(2000)
        assert (answer, address, port) == (data, PC_IP, 7)


def test_serves(make_bench: MakeBench) -> None:
    bench = make_bench()
    eth = bench.nic()
    pool = bench.sockets(eth)
    listening = pool.socket()
    listening.bind((None, 80))
    listening.listen()
    pc = Recorder()
    conn = bench.lan.connect("192.168.50.100:80", pc)
    sock, (address, _port) = listening.accept()
    assert address == PC_IP and pc.peers
    assert bench.lan.lan_send(conn, b"question")
    assert receive(sock, 8) == b"question"
    sock.send(b"answer")
    bench.pass_time(0.1)
    assert pc.data == b"answer"
    bench.lan.lan_close(conn)
    bench.pass_time(0.1)
    assert CLOSE_WAIT in statuses(eth)
    sock.close()
    assert CLOSE_WAIT not in statuses(eth)


def test_a_closed_port_is_refused(make_bench: MakeBench) -> None:
    bench = make_bench()
    sock = bench.sockets(bench.nic()).socket()
    before_us = bench.lan.time_us
    with pytest.raises((ConnectionError, RuntimeError)):
        sock.connect((PC_IP, 4999))
    assert bench.lan.time_us - before_us < 50_000  # by the RST, not by a timeout


def test_a_silent_address_times_out(make_bench: MakeBench) -> None:
    bench = make_bench()
    sock = bench.sockets(bench.nic()).socket()
    before_us = bench.lan.time_us
    with pytest.raises((ConnectionError, RuntimeError)):
        sock.connect(("192.168.50.77", PORT))
    # RTR x (RCR + 1) = 200 ms x 9: ARP without an answer (datasheet, RTR and RCR), while the driver looks every 1 ms.
    assert 1_800_000 <= bench.lan.time_us - before_us < 1_810_000


def test_looks_up_a_name(make_bench: MakeBench) -> None:
    bench = make_bench(dns_answer="192.168.50.1")
    eth = bench.nic()
    assert eth.pretty_ip(bytes(eth.get_host_by_name("pc.example"))) == PC_IP


def test_the_chip_answers_ping_by_itself(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.nic()
    assert bench.lan.ping("192.168.50.100", 7, b"portbench")
    bench.pass_time(0.1)
    ((address, sequence, data, round_trip_us),) = bench.lan.ping_replies()
    assert (address, sequence, data) == ("192.168.50.100", 7, b"portbench")
    assert 0 < round_trip_us < 1000


def test_notices_a_pulled_cable(make_bench: MakeBench) -> None:
    bench = make_bench(tcp_echo_port=7)
    eth = bench.nic()
    sock = bench.sockets(eth).socket()
    sock.connect((PC_IP, 7))
    bench.lan.set_cable(False)
    assert not eth.link_status and not bench.lan.link_up
    with pytest.raises((ConnectionError, OSError, RuntimeError)):
        sock.send(b"lost")
    bench.lan.set_cable(True)
    bench.pass_time(3)
    assert eth.link_status
    sock.send(b"back")
    assert receive(sock, 4) == b"back"


def test_survives_a_cable_that_loses_frames(make_bench: MakeBench) -> None:
    faults = {"seed": 3, "loss_from_board_per_mille": 100, "loss_to_board_per_mille": 100}
    bench = make_bench(tcp_echo_port=7, faults=faults)
    sock = bench.sockets(bench.nic()).socket()
    sock.connect((PC_IP, 7))
    for index in range(30):
        sock.send(b"message %2d" % index)
        assert receive(sock, 10) == b"message %2d" % index


def test_twice_the_same_to_the_microsecond(make_bench: MakeBench) -> None:
    def run(bench: Bench) -> tuple[float, dict[str, int], list[Session]]:
        server = SimulatedServer(part_in("ping_pong", {}).service())
        bench.lan.listen(PORT, server)
        sock = bench.sockets(bench.nic()).socket()
        sock.connect((PC_IP, PORT))
        sock.send(b"1")
        receive(sock, 1)
        return bench.lan.time_us, bench.lan.stats(), server.sessions()

    assert run(make_bench()) == run(make_bench())
