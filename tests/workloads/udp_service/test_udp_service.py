"""The PC's requests to a UDP service, on a LAN of the test's own."""

from ipaddress import IPv4Address
from typing import Any

import pytest

from portbench.errors import OptionError, PortbenchError
from portbench.runner.kinds.foreign import meeting_places
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.server.simulated_requests import AGAIN_US, GIVEN_UP_US, SimulatedRequests
from portbench.workloads import workload
from portbench.workloads.conversation import Requests

SERVICE = workload("udp_service")
STATIC = IPv4Address("192.168.50.10")


class Lan:
    """Keeps the datagrams."""

    def __init__(self, address: str | None = "192.168.50.100") -> None:
        self.board_address = address
        self.leased_us: float | None = None
        self.link_up = True
        self.sent: list[tuple[str, bytes]] = []

    def udp_listen(self, port: int, app: Any) -> None:
        assert port == 49_152

    def udp_send(self, port: int, peer: str, data: bytes) -> bool:
        self.sent.append((peer, data))
        return True


def requests(lan: Any, count: int = 3) -> SimulatedRequests:
    return SimulatedRequests(lan, Requests(9, b"ask", count), STATIC, 0.0)


def test_each_answer_brings_the_next_datagram_and_only_the_boards_counts() -> None:
    lan = Lan()
    asked = requests(lan)
    asked.look(2_000.0)
    assert lan.sent == [("192.168.50.100:9", b"ask")] and not asked.taken
    assert asked.receive("192.168.50.77:9", b"other", 2_100.0) == []
    assert asked.receive("192.168.50.100:9", b"yes", 2_500.0) == [(0.0, b"ask")]
    assert asked.receive("192.168.50.100:9", b"yes", 3_000.0) == [(0.0, b"ask")] and not asked.whole
    assert asked.receive("192.168.50.100:9", b"yes", 3_600.0) == [] and asked.whole
    (session,) = asked.sessions()
    assert (session.received_us, session.ended_us, session.received_bytes) == ([2_500.0, 3_000.0, 3_600.0], 3_600.0, 9)
    found = SERVICE.measure_calls([session], SERVICE.settings_type(requests=3))
    assert found.samples == {"round_trip_us": [500.0, 600.0]} and found.figures["sent_again"] == 0
    assert found.figures["requests_per_s"] == pytest.approx(2e6 / 1_100)


def test_a_lost_datagram_is_sent_again_and_silence_ends_the_run() -> None:
    lan = Lan()
    asked = requests(lan)
    for now_us in (0.0, AGAIN_US - 1, AGAIN_US):
        asked.look(now_us)
    assert len(lan.sent) == 2
    asked.receive("192.168.50.100:9", b"yes", AGAIN_US + 500)
    asked.look(2 * AGAIN_US + 500)
    assert len(lan.sent) == 3 and asked.sessions()[0].attempts == 2
    asked.look(AGAIN_US + 500 + GIVEN_UP_US)
    assert asked.whole and asked.error == "no answer for 10 s of simulated time"
    with pytest.raises(PortbenchError, match=r"^192\.168\.50\.100:9: no answer for 10 s .* \(after 1 answers\)$"):
        SERVICE.measure_calls(asked.sessions(), SERVICE.settings_type(requests=3))


def test_a_silent_board_is_asked_at_its_fixed_address() -> None:
    lan = Lan(None)
    asked = requests(lan)
    asked.look(9.9e6)
    assert lan.sent == [] and asked.sessions() == [] and not asked.has_address
    asked.look(10e6)
    assert lan.sent == [(f"{STATIC}:9", b"ask")]


def test_only_foreign_images_have_rows_of_it() -> None:
    with pytest.raises(OptionError, match="udp_service has nothing for micropython to run"):
        plan(BenchOptions().but(runtimes=("micropython-1.26.0",), workloads=(SERVICE,)))
    options = BenchOptions().but(workloads=(SERVICE,), where="emulated", settings={"port": 27_181})
    assert meeting_places(options) == [
        "emulated boards, udp_service: the PC calls UDP port 27181 of the address that it gave by DHCP, or of"
        " 192.168.50.10, mask 255.255.255.0"
    ]
