"""Pings of a board from its simulated PC: exact on simulated time, and as ping(8) prints them."""

from __future__ import annotations

from typing import Any

import pytest

from portbench.boards.timing import Deadline
from portbench.runner.cli.verbs.desk.ping import Pinging


class FakeBoard:
    """Answers pings after `round_trip_us`, but not those in `lost`; each look takes 100 ms."""

    def __init__(self, round_trips_us: list[float], lost: tuple[int, ...] = ()) -> None:
        self.round_trips_us = round_trips_us
        self.lost = lost
        self.now_us = 5e6
        self.sent: list[float] = []
        self.told: set[int] = set()

    def call(self, op: str, deadline: Deadline, **arguments: Any) -> dict[str, Any]:
        if op == "ping":
            at_us = max(arguments["at_us"], self.now_us)
            self.sent.append(at_us)
            return {"number": len(self.sent) - 1, "address": "192.168.50.100", "at_us": at_us}
        self.now_us += 100_000
        answers = []
        for number in arguments["numbers"]:
            round_trip_us = self.round_trips_us[number % len(self.round_trips_us)]
            if number not in self.lost and self.sent[number] + round_trip_us <= self.now_us:
                answers.append(
                    {"number": number, "address": "192.168.50.100", "bytes": 56, "round_trip_us": round_trip_us}
                )
        return {"answers": answers, "time_us": self.now_us}


def lines_of(board: FakeBoard, count: int) -> list[str]:
    pinging = Pinging(board, "desk", None, size=56, interval_us=1e6, wait_us=1e6)
    lines = []
    while not pinging.over(count):
        lines += pinging.go_on(count)
    return [*lines, *pinging.summary()]


def test_it_prints_what_ping_prints() -> None:
    board = FakeBoard([667.0, 772.0, 1461.0, 700.0], lost=(3,))
    assert lines_of(board, 4) == [
        "PING 192.168.50.100 (192.168.50.100) 56(84) bytes of data.",
        "64 bytes from 192.168.50.100: icmp_seq=1 time=0.667 ms",
        "64 bytes from 192.168.50.100: icmp_seq=2 time=0.772 ms",
        "64 bytes from 192.168.50.100: icmp_seq=3 time=1.461 ms",
        "",
        "--- 192.168.50.100 ping statistics ---",
        "4 packets transmitted, 3 received, 25% packet loss, time 3000ms",
        "rtt min/avg/max/mdev = 0.667/0.967/1.461/0.352 ms",
    ]
    assert board.sent == [5e6, 6e6, 7e6, 8e6]


def test_a_board_that_never_answers_is_all_loss() -> None:
    lines = lines_of(FakeBoard([1.0], lost=(0, 1)), 2)
    assert lines[-1] == "2 packets transmitted, 0 received, 100% packet loss, time 1000ms"


@pytest.mark.engine
@pytest.mark.slow
def test_scheduled_pings_have_the_same_round_trips_every_time() -> None:
    pytest.importorskip("portbench_engine")
    from portbench_engine import Machine, bootrom

    from portbench.boards.definition import board_definition
    from portbench.boards.emulated.config import EmulatedConfig
    from portbench.boards.emulated.simulation import ps
    from tests.forward.conftest import server_flash

    sizes = [56, 56, 500, 1300]

    def round_trips() -> list[tuple[int, int, float]]:
        settings = EmulatedConfig(phy_link_delay_us=100_000).settings(board_definition("W5500_EVB_PICO"))
        machine = Machine(bootrom(), server_flash(), settings)
        while machine.board_address is None:
            machine.run_until_ps(machine.time_ps + ps(10_000))
            assert machine.time_us < 5e6
        address = machine.board_address
        assert address == "192.168.50.100"
        start_us = machine.time_us + 20_000
        for sequence, size in enumerate(sizes):
            assert machine.ping(address, sequence, bytes(size), start_us + 1000 * sequence)
        assert not machine.ping(address, 9, bytes(1473))
        machine.run_until_ps(ps(start_us + 100_000))
        replies = machine.ping_replies()
        assert machine.ping_replies() == []
        assert [sent_us - start_us for *_, sent_us, _ in replies] == [0.0, 1000.0, 2000.0, 3000.0]
        return [(sequence, len(data), received_us - sent_us) for _, sequence, data, sent_us, received_us in replies]

    first = round_trips()
    assert [(sequence, size) for sequence, size, _ in first] == list(enumerate(sizes))
    assert round_trips() == first
    # The same again without ARP; longer on the wire, each way, by 80 ns a byte.
    _, short, middle, long = (round_trip_us for *_, round_trip_us in first)
    assert middle - short == pytest.approx(2 * 0.08 * (500 - 56), abs=60)
    assert long > middle > short
