"""Datagrams to a board's service and a board's own, on a LAN of the test's own: exact times."""

from ipaddress import IPv4Address
from typing import Any

import pytest

from portbench.server.simulated_pc import Part, SimulatedPc, UdpPort
from portbench.server.simulated_polling import SILENT_US
from portbench.server.simulated_requests import AGAIN_US, GIVEN_UP_US, PC_PORT, SimulatedRequests
from portbench.workloads import Session
from portbench.workloads.conversation import Requests
from tests.server.asking import UnaskedLan

STATIC, KNOWN = IPv4Address("10.0.0.2"), "10.0.0.9:5000"


class Lan(UnaskedLan):
    """Keeps the datagrams that it is to send, by their times."""

    def __init__(self, board_address: str | None) -> None:
        self.board_address, self.link_up, self.now_us = board_address, True, 0.0
        self.sent: list[tuple[float, str]] = []
        self.ports: list[tuple[int, object]] = []

    def udp_listen(self, port: int, app: object) -> None:
        self.ports.append((port, app))

    def udp_send(self, port: int, peer: str, data: bytes) -> bool:
        assert (port, data) == (PC_PORT, b"q")
        self.sent.append((self.now_us, peer))
        return True


def asking(lan: Any, count: int) -> tuple[SimulatedPc, SimulatedRequests]:
    pc = SimulatedPc(lan, None, 200.0, Part(call=lambda: Requests(5000, b"q", count), limit=count))
    pc.poll(lan, STATIC, 100.0)
    assert isinstance(pc.polling, SimulatedRequests) and lan.ports == [(PC_PORT, pc.polling)]
    return pc, pc.polling


def look(pc: SimulatedPc, lan: Lan, *times_us: float) -> list[tuple[float, str]]:
    for lan.now_us in times_us:
        pc.look(lan.now_us)
    found, lan.sent = lan.sent, []
    return found


def test_a_datagram_follows_each_answer_and_an_unanswered_one_goes_again() -> None:
    lan = Lan("10.0.0.9")
    lan.leased_us = 77.0
    pc, asks = asking(lan, 3)
    assert asks.receive(KNOWN, b"a", 50.0) == [] and pc.sessions() == []  # before any request
    assert look(pc, lan, 200.0, 100.0 + AGAIN_US) == [(200, KNOWN)] and asks.has_address and not asks.taken
    assert look(pc, lan, 199.0 + AGAIN_US, 200.0 + AGAIN_US) == [(200 + AGAIN_US, KNOWN)]
    assert asks.receive("10.0.0.8:5000", b"x", 2e6) == [] and not asks.taken
    assert asks.receive(KNOWN, b"abc", 2e6) == [(0.0, b"q")] and asks.taken and not pc.whole
    assert look(pc, lan, 1.9e6 + AGAIN_US, 2e6 + AGAIN_US) == [(2e6 + AGAIN_US, KNOWN)]
    assert asks.receive(KNOWN, b"de", 4e6) == [(0.0, b"q")]
    half = pc.sessions()[0]
    assert (half.ended_us, half.attempts, half.error) == (None, 2, None)
    assert asks.receive(KNOWN, b"f", 5e6) == [] and pc.whole and asks.receive(KNOWN, b"g", 6e6) == []
    assert look(pc, lan, 9e6) == [] and (asks.refusals, pc.answered) == (0, 0)
    times_us = [2e6, 4e6, 5e6]
    assert pc.sessions() == [
        Session(
            0, KNOWN, 200, 5e6, 3, 6, None, None, times_us, arrivals=3, attempts=2, established_us=2e6, leased_us=77
        )
    ]


def test_a_board_that_answers_no_more_is_given_up() -> None:
    lan = Lan("10.0.0.9")
    pc, asks = asking(lan, 2)
    look(pc, lan, 200.0)
    asks.receive(KNOWN, b"a", 1000.0)
    look(pc, lan, 999.0 + GIVEN_UP_US)
    assert not pc.whole
    look(pc, lan, 1e9)
    (session,) = pc.sessions()
    assert pc.whole and session.error == "no answer for 10 s of simulated time" and session.ended_us == 1000
    pc.take(Part())
    assert pc.polling is None and pc.sessions() == []


@pytest.mark.parametrize("link_up", [True, False])
def test_a_silent_board_is_asked_where_it_has_to_be_once_its_link_is_up(link_up: bool) -> None:
    lan = Lan(None)
    lan.link_up = link_up
    pc, asks = asking(lan, 1)
    assert look(pc, lan, 99.0 + SILENT_US) == [] and asks.board is None and not asks.has_address
    assert look(pc, lan, 100.0 + SILENT_US) == ([(100.0 + SILENT_US, "10.0.0.2:5000")] if link_up else [])


def test_a_boards_datagrams_reach_the_workload_of_its_part() -> None:
    class Echo:
        def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
            return [(5.0, peer.encode() + data)]

    lan: Any = Lan(None)
    lan.listen = lambda *_: None
    pc = SimulatedPc(lan, 4711, 0.0, Part(datagrams=Echo))
    ((port, udp),) = lan.ports
    assert port == 4711 and isinstance(udp, UdpPort) and udp.receive("p", b"x", 1.0) == [(5.0, b"px")]
    for silenced in (lambda: pc.take(Part()), lambda: (pc.take(Part(datagrams=Echo)), pc.kill())):
        silenced()
        assert udp.receive("p", b"x", 1.0) == [] and len(lan.ports) == 1
